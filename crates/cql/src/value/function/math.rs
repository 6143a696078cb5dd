//! `abs`, `exp`, `log`, `log10`, `round`: each gives the type it takes.

use super::error::NumberError;
use super::number::Number;
use super::transcendental;
use model::DataType;

/// Which function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Math {
    Abs,
    Exp,
    Log,
    Log10,
    Round,
}

impl Math {
    /// Applies the function to a number of type `ty` and appends the result as a value of the same type.
    pub(super) fn apply(self, number: Number, ty: &DataType, out: &mut Vec<u8>) -> Result<(), NumberError> {
        let result = match (self, &number) {
            (Self::Abs, _) => number.absolute(),
            (Self::Round, _) => number.rounded()?,
            (_, Number::Varint(_) | Number::Decimal(_)) => {
                let x = number.to_decimal()?;
                Number::Decimal(match self {
                    Self::Exp => transcendental::exp(&x)?,
                    Self::Log => transcendental::log(&x)?.ok_or(NumberError::Logarithm)?,
                    _ => transcendental::log10(&x)?.ok_or(NumberError::Logarithm)?,
                })
            }
            _ => {
                let x = number.to_double();
                Number::Double(match self {
                    Self::Exp => x.exp(),
                    Self::Log => x.ln(),
                    _ => x.log10(),
                })
            }
        };
        result.write(ty, out)
    }
}
