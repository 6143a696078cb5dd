//! What an operator may ask of the cluster, and the answer.

use cluster::Outcome;

/// What an operator may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing is placed on a member any more.
    Drain {
        /// The member.
        node: u32,
    },
    /// A member that is down or empty is one no longer.
    Remove {
        /// The member.
        node: u32,
        /// Even if it alone has some slots' data.
        force: bool,
    },
}

/// What became of an [`Order`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Done(String),
    /// Nothing was changed.
    Refused(String),
    /// It may hold, may not, and may come to hold later.
    Unknown,
}

pub(crate) fn answer(order: Order, outcome: &Outcome) -> Answer {
    match (order, outcome) {
        (_, Outcome::Refused(refused)) => Answer::Refused(refused.to_string()),
        (_, Outcome::Unknown) => Answer::Unknown,
        (Order::Drain { node }, _) => Answer::Done(format!("member {node} is being emptied")),
        (Order::Remove { node, .. }, Outcome::Removed { lost: 1.. }) => {
            let Outcome::Removed { lost } = outcome else { return Answer::Unknown };
            Answer::Done(format!("member {node} is removed, and with it the only whole copy of {lost} slots"))
        }
        (Order::Remove { node, .. }, _) => Answer::Done(format!("member {node} is removed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NodeId;

    #[test]
    fn outcomes_are_told_in_words() {
        let remove = Order::Remove { node: 3, force: true };
        assert_eq!(answer(remove, &Outcome::Removed { lost: 0 }), Answer::Done("member 3 is removed".to_owned()));
        let lossy = answer(remove, &Outcome::Removed { lost: 7 });
        assert_eq!(lossy, Answer::Done("member 3 is removed, and with it the only whole copy of 7 slots".to_owned()));
        let refused = Outcome::Refused(cluster::Refused::NoSuchMember { node: NodeId(9) });
        assert_eq!(answer(Order::Drain { node: 9 }, &refused), Answer::Refused("there is no member 9".to_owned()));
        assert_eq!(answer(remove, &Outcome::Unknown), Answer::Unknown);
    }
}
