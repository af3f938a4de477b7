//! Two binary trees (Sanders, Speck and Träff, Parallel Computing 2009, as NCCL uses them): half of
//! the buffer goes up one tree, summed up on the way, and down again; half the other. A rank that is an
//! inner node of one tree is a leaf of the other, so that every link carries its share.

use super::super::WorkloadError;
use super::super::dag::{Draft, Op};
use super::split::{part, pieces};
use super::{Ends, Group, at_least};
use crate::spec::CollectiveSpec;

/// The parent of each place of a binary tree whose leaves are the even places; the root has none.
fn parents(n: usize) -> Vec<Option<usize>> {
    // Places are counted from 1: the more trailing zeros, the higher up.
    let root = 1 << n.ilog2();
    let parent = |place: usize| {
        let mut at = place;
        loop {
            if at == root {
                return None;
            }
            let bit = at & at.wrapping_neg();
            let up = (at ^ bit) | bit << 1;
            if up <= n {
                return Some(up - 1);
            }
            // Beyond the last place: the parent of the place where the parent would be.
            at = up;
        }
    };
    (1..=n).map(parent).collect()
}

/// The parent of each rank in the first tree, and in the second: the mirror image of the first where
/// their number is even, else shifted by one.
fn trees(n: usize) -> [Vec<Option<usize>>; 2] {
    let first = parents(n);
    let mut second = vec![None; n];
    let rank = |place: usize| if n.is_multiple_of(2) { n - 1 - place } else { (place + n - 1) % n };
    for (place, parent) in first.iter().enumerate() {
        second[rank(place)] = parent.map(rank);
    }
    [first, second]
}

fn children(parents: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); parents.len()];
    for (child, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent].push(child);
        }
    }
    children
}

/// Adds an all-reduce over both trees.
pub(super) fn all_reduce(
    draft: &mut Draft,
    group: &Group<'_>,
    spec: &CollectiveSpec,
) -> Result<Ends, WorkloadError> {
    let n = group.hosts.len();
    let channels = u64::from(spec.channels);
    at_least(spec, 2 * channels)?;
    let mut ends: Ends = vec![Vec::new(); n];
    let trees = trees(n);
    for channel in 0..spec.channels {
        let whole = part(spec.bytes.0, channels, u64::from(channel));
        for (half, parents) in (0..).zip(&trees) {
            let children = children(parents);
            let bytes = part(whole, 2, half);
            let many = pieces(spec, bytes);
            for piece in 0..many {
                let size = part(bytes, many, piece);
                up_and_down(
                    draft,
                    group,
                    (parents, &children),
                    (size, 2 * channel + half as u16),
                    &mut ends,
                );
            }
        }
    }
    Ok(ends)
}

/// One piece goes up a tree and down again.
fn up_and_down(
    draft: &mut Draft,
    group: &Group<'_>,
    (parents, children): (&[Option<usize>], &[Vec<usize>]),
    (size, channel): (u64, u16),
    ends: &mut Ends,
) {
    let n = parents.len();
    let up: Vec<Option<Op>> = (0..n)
        .map(|rank| {
            let parent = parents[rank]?;
            let message = draft.message(group.hosts[rank], group.hosts[parent], size, channel);
            draft.after(group.begin[rank], message);
            Some(message)
        })
        .collect();
    let down: Vec<Option<Op>> = (0..n)
        .map(|rank| {
            let parent = parents[rank]?;
            Some(draft.message(group.hosts[parent], group.hosts[rank], size, channel))
        })
        .collect();
    for child in 0..n {
        let (Some(parent), Some(up_to)) = (parents[child], up[child]) else { continue };
        // A parent sends on what it has from all children; the root sends down.
        match up[parent] {
            Some(onwards) => draft.after(up_to, onwards),
            None => ends[parent].push(up_to),
        }
        for down_to in children[parent].iter().filter_map(|other| down[*other]) {
            match down[parent] {
                Some(from) => draft.after(from, down_to),
                None => draft.after(up_to, down_to),
            }
        }
        if parents[parent].is_none()
            && let Some(down_to) = down[child]
        {
            draft.after(group.begin[parent], down_to);
        }
        ends[child].extend(down[child]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a tree of any size is not one tree with two children at most, or if a rank is an inner
    /// node of both: its link would carry twice as much as others.
    #[test]
    fn every_rank_is_inner_once() {
        for n in 2..200 {
            let mut inner = vec![0; n];
            for parents in trees(n) {
                let children = children(&parents);
                assert!(children.iter().all(|all| all.len() <= 2), "{n}: {parents:?}");
                assert_eq!(parents.iter().filter(|parent| parent.is_none()).count(), 1, "{n}");
                for rank in 0..n {
                    let (mut at, mut up) = (rank, 0);
                    while let Some(parent) = parents[at] {
                        (at, up) = (parent, up + 1);
                        assert!(up <= n.ilog2() + 1, "{n}: rank {rank} is too deep");
                    }
                }
                (0..n).filter(|rank| !children[*rank].is_empty()).for_each(|rank| inner[rank] += 1);
            }
            assert!(inner.iter().all(|count| *count <= 1), "{n}: {inner:?}");
        }
    }
}
