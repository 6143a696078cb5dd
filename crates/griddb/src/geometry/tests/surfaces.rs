//! Quadratic surfaces and boxes.

use super::*;

fn cube(low: f64, high: f64) -> Geometry {
    cuboid([low; 3], [high; 3]).unwrap()
}

#[test]
fn surfaces_cut_the_boxes_that_they_go_through() {
    let up = [0.0, 0.0, 1.0];
    for (what, surface, bounds, cuts) in [
        ("a sphere around a box", sphere([0.0; 3], 10.0), (-1.0, 1.0), false),
        ("a sphere in a box", sphere([0.0; 3], 1.0), (-2.0, 2.0), true),
        ("a sphere whose top is in a box", sphere([0.0; 3], 1.0), (0.0, 5.0), true),
        ("a sphere beside a box", sphere([10.0, 0.0, 0.0], 1.0), (-2.0, 2.0), false),
        ("a sphere that touches a face", sphere([3.0, 0.0, 0.0], 1.0), (-2.0, 2.0), true),
        ("a plane through a box", plane([0.5; 3], [1.0, 1.0, 1.0]), (0.0, 1.0), true),
        ("a plane that touches a corner", plane([0.0; 3], [1.0, 1.0, 1.0]), (0.0, 1.0), true),
        ("a plane beside a box", plane([-0.1; 3], [1.0, 1.0, 1.0]), (0.0, 1.0), false),
        ("a plane without a direction", plane([0.5; 3], [0.0; 3]), (0.0, 1.0), false),
        ("a cylinder around a box", cylinder([0.0; 3], up, 5.0), (-1.0, 1.0), false),
        ("a cylinder through a box", cylinder([0.0; 3], up, 0.5), (-1.0, 1.0), true),
        ("a cylinder of a negative radius", cylinder([0.0; 3], up, -0.5), (-1.0, 1.0), true),
        ("a cylinder that is a line in a box", cylinder([0.3, 0.3, 0.0], [1.0, 2.0, 3.0], 0.0), (-1.0, 1.0), true),
        ("a cylinder that is a line beside a box", cylinder([1.3, 0.3, 0.0], up, 0.0), (-1.0, 1.0), false),
        ("a cone with its top in a box", cone([0.0; 3], up, 45.0), (-1.0, 1.0), true),
        ("a cone around a box", cone([0.5, 0.5, -100.0], up, 45.0), (0.0, 1.0), false),
        ("a cone behind its top", cone([0.5, 0.5, 10.0], up, 45.0), (0.0, 1.0), false),
        ("a saddle", surface([1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), (-1.0, 1.0), true),
        ("nothing", surface([0.0; 13]), (-1.0, 1.0), true),
        ("what is nowhere zero", surface([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), (-1.0, 1.0), false),
    ] {
        assert_eq!(surface.unwrap().cuts(&cube(bounds.0, bounds.1)), cuts, "{what}");
    }
    let sphere = sphere([0.0; 3], 1.0).unwrap();
    for text in ["POINT(1 0)", "POINT(EMPTY)", "QUADRATICSURFACE(0 0 0 0 0 0 0 0 0 0 0 0 0)"] {
        assert!(!sphere.cuts(&parse(text)), "{text}: without three dimensions, or a box");
    }
    assert!(sphere.cuts(&parse("POINT(1 0 0)")) && !sphere.cuts(&parse("POINT(0 0 0)")));
    assert!(!parse("POINT(1 0 0)").cuts(&sphere));
}

#[test]
fn a_random_surface_cuts_a_box_if_points_in_it_lie_on_both_sides() {
    let mut random = Rng::new(23);
    let mut number = |size: i64| (random.below(2 * size as u64 + 1) as i64 - size) as f64;
    let (mut cutting, mut others) = (0, 0);
    for _ in 0..3_000 {
        let mut terms = [0.0; 13];
        terms.iter_mut().for_each(|term| *term = number(3));
        terms[12] = number(40);
        let low = [number(5), number(5), number(5)];
        let high = low.map(|low| low + number(2).abs());
        let bounds = Bounds { low, high };
        let made = Surface { terms };
        // The value at a fine net of points, computed once more.
        let mut seen = [false; 2];
        for step in 0..9_usize.pow(3) {
            let part = [step % 9, step / 9 % 9, step / 81].map(|part| part as f64 / 8.0);
            let at: Vec<f64> = (0..3).map(|axis| low[axis] + part[axis] * (high[axis] - low[axis])).collect();
            let mut value = terms[12];
            for row in 0..3 {
                value += terms[9 + row] * at[row] + (0..3).map(|column| terms[3 * row + column] * at[row] * at[column]).sum::<f64>();
            }
            seen[0] |= value <= 0.0;
            seen[1] |= value >= 0.0;
        }
        if seen == [true; 2] {
            assert!(made.cuts(&bounds), "{terms:?} {bounds:?}");
            cutting += 1;
        } else if !made.cuts(&bounds) {
            others += 1;
        }
    }
    assert!(cutting > 300 && others > 1_500, "{cutting} {others}");
}

#[test]
fn what_makes_no_shape_is_refused() {
    for made in [
        sphere([0.0; 3], 0.0),
        sphere([0.0; 3], -1.0),
        cylinder([0.0; 3], [0.0; 3], 1.0),
        cone([0.0; 3], [0.0; 3], 1.0),
        rectangle([0.0, 1.0], [0.0, 2.0]),
        rectangle([0.0, 1.0], [1.0, 1.0]),
        cuboid([0.0; 3], [1.0, 0.0, 1.0]),
    ] {
        assert!(matches!(made, Err(GeometryError::Degenerate(_))), "{made:?}");
    }
    assert_eq!(sphere([1e300; 3], 1.0), Err(GeometryError::NotFinite));
    let made = cuboid([0.0, 0.0, 0.0], [1.0, 2.0, -3.0]).unwrap();
    assert_eq!(*made.bounds().unwrap(), Bounds { low: [0.0, 0.0, -3.0], high: [1.0, 2.0, 0.0] });
    assert_eq!(made.kind(), Kind::PolyhedralSurface);
    assert_eq!(rectangle([3.0, 4.0], [1.0, 2.0]).unwrap().to_string(), "POLYGON((3 4,1 4,1 2,3 2,3 4))");
}
