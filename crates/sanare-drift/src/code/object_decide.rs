//! What the data at hand decides while the code is followed: tests, and which of two places is there.

use std::collections::HashMap;

use sanare_core::value::Value;
use sanare_source::ast::{BoolOp, CmpOp, Expr, UnaryOp};

use crate::code::object_path::values;
use crate::code::object_reads::Place;
use crate::code::object_walk::{Sym, Walker};

impl<'a> Walker<'a> {
    /// The values that the data at hand has at a place.
    pub(crate) fn at(&self, place: &Place) -> Vec<&Value> {
        match self.values.get(place.root) {
            Some(Some(root)) => values(root, &place.steps),
            _ => Vec::new(),
        }
    }

    /// What stands for either. Of two places the one that the data at hand has.
    pub(crate) fn merged(&self, left: Sym, right: Sym) -> Sym {
        match (left, right) {
            (left, right) if left == right => left,
            (Sym::Literal, other) | (other, Sym::Literal) => other,
            (Sym::Texts(mut left), Sym::Texts(right)) => {
                left.extend(right.into_iter().filter(|text| !text.is_empty()));
                left.dedup();
                Sym::Texts(left)
            }
            (Sym::Tuple(left), Sym::Tuple(right)) if left.len() == right.len() => {
                Sym::Tuple(left.into_iter().zip(right).map(|(left, right)| self.merged(left, right)).collect())
            }
            (Sym::At(left), Sym::At(right)) => self.found(&[left, right]),
            _ => Sym::Unknown,
        }
    }

    /// The one of these places that the data at hand has.
    pub(crate) fn found(&self, places: &[Place]) -> Sym {
        let mut there = places.iter().filter(|place| !self.at(place).is_empty());
        match (there.next(), there.next()) {
            (Some(only), None) => Sym::At(only.clone()),
            _ => Sym::Unknown,
        }
    }

    pub(crate) fn merged_names(
        &self,
        left: HashMap<String, Sym>,
        mut right: HashMap<String, Sym>,
    ) -> HashMap<String, Sym> {
        let mut out = HashMap::new();
        for (name, sym) in left {
            let sym = match right.remove(&name) {
                Some(other) => self.merged(sym, other),
                None => sym,
            };
            out.insert(name, sym);
        }
        out.extend(right);
        out
    }

    /// How a test comes out for every value of the data at hand, when it only asks for keys, types and nulls.
    pub(crate) fn decided(&mut self, test: &'a Expr) -> Option<bool> {
        match test {
            Expr::UnaryOp(operation) if matches!(operation.op, UnaryOp::Not) => {
                self.decided(&operation.operand).map(|answer| !answer)
            }
            Expr::BoolOp(operation) => {
                let answers: Vec<Option<bool>> = operation.values.iter().map(|value| self.decided(value)).collect();
                let stop = matches!(operation.op, BoolOp::Or);
                if answers.contains(&Some(stop)) {
                    return Some(stop);
                }
                answers.iter().all(|answer| *answer == Some(!stop)).then_some(!stop)
            }
            Expr::Compare(compare) => {
                let ([op], [right]) = (&*compare.ops, &*compare.comparators) else { return None };
                let sym = self.eval(&compare.left);
                match op {
                    CmpOp::In | CmpOp::NotIn => {
                        let Sym::At(place) = self.eval(right) else { return None };
                        let Sym::Texts(texts) = sym else { return None };
                        let [text] = texts.as_slice() else { return None };
                        let there = self.agreed(&place, |value| value.as_map().map(|_| value.get(text).is_some()))?;
                        Some(there == matches!(op, CmpOp::In))
                    }
                    CmpOp::Is | CmpOp::IsNot if matches!(right, Expr::NoneLiteral(_)) => {
                        let Sym::At(place) = sym else { return None };
                        let null = self.agreed(&place, |value| Some(matches!(value, Value::Null)))?;
                        Some(null == matches!(op, CmpOp::Is))
                    }
                    _ => None,
                }
            }
            Expr::Call(call) if self.dotted(&call.func).as_deref() == Some("isinstance") => {
                let [subject, class] = &*call.arguments.args else { return None };
                let Sym::At(place) = self.eval(subject) else { return None };
                let class = self.dotted(class)?;
                if !matches!(class.as_str(), "dict" | "list" | "str" | "int" | "float" | "bool") {
                    return None;
                }
                self.agreed(&place, |value| Some(value.type_name() == class))
            }
            _ => None,
        }
    }

    fn agreed(&self, place: &Place, ask: impl Fn(&Value) -> Option<bool>) -> Option<bool> {
        let mut answers = self.at(place).into_iter().map(ask);
        let first = answers.next()??;
        answers.all(|answer| answer == Some(first)).then_some(first)
    }
}
