//! What the nodes themselves say after a disturbance: when they noticed, when all was served again, when nothing was missing any more.

use crate::study::Disturbance;
use crate::target::Health;
use std::collections::BTreeMap;

/// A cluster is whole when it has said so for this long: what a node says may be older than what has happened to it.
const SURE_S: f64 = 1.5;

/// What is waited for after a disturbance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aftermath {
    is_loss: bool,
    whole_since_s: Option<f64>,
}

impl Aftermath {
    pub(super) fn of(disturbance: Disturbance) -> Self {
        Self { is_loss: matches!(disturbance, Disturbance::KillNode | Disturbance::StopNode), whole_since_s: None }
    }

    /// Takes down what is to be seen so many seconds after it; whether there is nothing left to wait for.
    pub(super) fn see(&mut self, after_s: f64, health: Health, figures: &mut BTreeMap<String, f64>) -> bool {
        if self.is_loss {
            if health.down > 0 {
                figures.entry("noticed_s".to_owned()).or_insert(after_s);
            }
            if figures.contains_key("noticed_s") && health.unserved == 0 {
                figures.entry("served_s".to_owned()).or_insert(after_s);
            }
            return figures.contains_key("served_s");
        }
        if health.ready {
            figures.entry("ready_s".to_owned()).or_insert(after_s);
        }
        self.whole_since_s = health.whole.then(|| self.whole_since_s.unwrap_or(after_s));
        match self.whole_since_s {
            Some(since_s) if after_s - since_s >= SURE_S => {
                figures.insert("whole_s".to_owned(), since_s);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(disturbance: Disturbance, seen: &[(f64, Health)]) -> (BTreeMap<String, f64>, bool) {
        let (mut after, mut figures) = (Aftermath::of(disturbance), BTreeMap::new());
        let over = seen.iter().any(|(after_s, health)| after.see(*after_s, *health, &mut figures));
        (figures, over)
    }

    fn named(figures: &[(&str, f64)]) -> BTreeMap<String, f64> {
        figures.iter().map(|(name, figure)| ((*name).to_owned(), *figure)).collect()
    }

    const WELL: Health = Health { ready: true, down: 0, unserved: 0, whole: true };
    const LACKING: Health = Health { ready: true, down: 0, unserved: 0, whole: false };

    #[test]
    fn a_loss_is_noticed_before_what_was_lost_is_served_again() {
        let seen = [
            (0.1, WELL),
            (1.0, Health { down: 1, unserved: 9, ..LACKING }),
            (1.2, Health { down: 0, unserved: 3, ..LACKING }),
            (1.5, LACKING),
            (9.0, LACKING),
        ];
        assert_eq!(figures(Disturbance::KillNode, &seen[..1]), (named(&[]), false), "what is said may be old");
        assert_eq!(figures(Disturbance::KillNode, &seen), (named(&[("noticed_s", 1.0), ("served_s", 1.5)]), true));
        assert_eq!(figures(Disturbance::StopNode, &seen[..2]), (named(&[("noticed_s", 1.0)]), false));
    }

    #[test]
    fn a_node_that_comes_is_there_when_the_cluster_stays_whole() {
        let seen = [(0.3, Health { ready: false, ..LACKING }), (0.6, WELL), (1.0, LACKING), (4.0, WELL), (5.0, WELL), (5.6, WELL)];
        assert_eq!(figures(Disturbance::StartNode, &seen), (named(&[("ready_s", 0.6), ("whole_s", 4.0)]), true));
        assert_eq!(figures(Disturbance::AddNode, &seen[..5]), (named(&[("ready_s", 0.6)]), false));
    }
}
