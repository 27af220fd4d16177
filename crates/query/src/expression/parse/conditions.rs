//! Parsing of `$cond`, `$switch`, `$and`, `$or`.

use super::{Parser, Result, wrong_count};
use crate::code::ErrorCode;
use crate::expression::error::{ExpressionError, fail};
use crate::expression::node::Node;
use crate::expression::operand::is_true;
use alluvium_document::Value;

/// The errors of the constant parts of an expression.
type Failures = Vec<ExpressionError>;

impl Parser<'_> {
    /// Parses an expression that may never be evaluated. Returns the errors of its constant parts separately.
    fn apart(&mut self, expression: &Value) -> Result<(Node, Failures)> {
        let before = self.failures.len();
        let node = self.node(expression)?;
        Ok((node, self.failures.split_off(before)))
    }

    /// Builds `$or` (`decision` is true) or `$and` (`decision` is false). A constant operand equal to `decision`
    /// decides the result. Other constants are left out.
    pub(super) fn decided(nodes: Vec<Node>, decision: bool) -> Node {
        let mut kept = Vec::with_capacity(nodes.len());
        for node in nodes {
            match &node {
                Node::Constant(value) if is_true(Some(value)) == decision => {
                    return Node::Constant(Value::Bool(decision));
                }
                Node::Constant(_) => {}
                _ => kept.push(node),
            }
        }
        match (kept.is_empty(), decision) {
            (true, _) => Node::Constant(Value::Bool(!decision)),
            (false, true) => Node::Or(kept),
            (false, false) => Node::And(kept),
        }
    }

    pub(super) fn cond(&mut self, operand: &Value) -> Result<Node> {
        let [when, then, otherwise] = match operand {
            Value::Map(map) => {
                for (name, _) in map.iter() {
                    let name = name.as_str().unwrap_or_default();
                    if !["if", "then", "else"].contains(&name) {
                        return fail(
                            ErrorCode::Location17083,
                            format!("$cond has no argument '{name}'; there are if, then, else"),
                        );
                    }
                }
                let missing =
                    |name: &str, code| ExpressionError::new(code, format!("$cond needs the argument '{name}'"));
                [
                    map.get("if").ok_or_else(|| missing("if", ErrorCode::Location17080))?,
                    map.get("then").ok_or_else(|| missing("then", ErrorCode::Location17081))?,
                    map.get("else").ok_or_else(|| missing("else", ErrorCode::Location17082))?,
                ]
            }
            Value::Array(elements) => match &elements[..] {
                [when, then, otherwise] => [when, then, otherwise],
                _ => return wrong_count("$cond", 3, 3, elements.len()),
            },
            _ => return wrong_count("$cond", 3, 3, 1),
        };
        let when = self.node(when)?;
        let (then, then_failures) = self.apart(then)?;
        let (otherwise, other_failures) = self.apart(otherwise)?;
        if let Node::Constant(condition) = &when {
            let is_true = is_true(Some(condition));
            self.failures.extend(if is_true { then_failures } else { other_failures });
            return Ok(if is_true { then } else { otherwise });
        }
        self.failures.extend(then_failures.into_iter().chain(other_failures));
        Ok(Node::Switch { branches: vec![(when, then)], default: Some(Box::new(otherwise)) })
    }

    pub(super) fn switch(&mut self, operand: &Value) -> Result<Node> {
        let Value::Map(map) = operand else {
            return fail(ErrorCode::Location40060, "$switch takes a map of branches and default");
        };
        let (mut branches, mut default, mut is_empty) = (Vec::new(), None, true);
        // The first branch whose condition is always true becomes the default. The branches after it are never
        // evaluated.
        let mut last = None;
        for (name, value) in map.iter() {
            match (name.as_str(), value) {
                (Some("branches"), Value::Array(list)) => {
                    is_empty = list.is_empty();
                    for branch in list {
                        let (case, case_failures, then, then_failures) = self.branch(branch)?;
                        if last.is_some() {
                            continue;
                        }
                        self.failures.extend(case_failures);
                        let condition =
                            if let Node::Constant(value) = &case { Some(is_true(Some(value))) } else { None };
                        if condition == Some(false) {
                            continue;
                        }
                        self.failures.extend(then_failures);
                        match condition {
                            Some(_) => last = Some(Box::new(then)),
                            None => branches.push((case, then)),
                        }
                    }
                }
                (Some("branches"), _) => {
                    return fail(ErrorCode::Location40061, "the branches of $switch must be an array");
                }
                (Some("default"), value) => default = Some(Box::new(self.node(value)?)),
                _ => {
                    let name = name.as_str().unwrap_or_default();
                    return fail(
                        ErrorCode::Location40067,
                        format!("$switch has no argument '{name}'; there are branches, default"),
                    );
                }
            }
        }
        if is_empty {
            return fail(ErrorCode::Location40068, "$switch needs at least one branch");
        }
        match last.or(default) {
            Some(default) if branches.is_empty() => Ok(*default),
            None if branches.is_empty() => {
                let problem = "$switch has no branch that can be true, and no default";
                self.failures.push(ExpressionError::new(ErrorCode::Location40069, problem));
                Ok(Node::Switch { branches, default: None })
            }
            default => Ok(Node::Switch { branches, default }),
        }
    }

    /// The condition and the value of a branch, with the errors of their constant parts.
    fn branch(&mut self, branch: &Value) -> Result<(Node, Failures, Node, Failures)> {
        let Value::Map(map) = branch else {
            return fail(ErrorCode::Location40062, "each branch of $switch must be a map of case and then");
        };
        for (name, _) in map.iter() {
            let name = name.as_str().unwrap_or_default();
            if !["case", "then"].contains(&name) {
                return fail(
                    ErrorCode::Location40063,
                    format!("a branch of $switch has no argument '{name}'; there are case, then"),
                );
            }
        }
        let case = map
            .get("case")
            .ok_or_else(|| ExpressionError::new(ErrorCode::Location40064, "a branch of $switch needs a case"))?;
        let then = map
            .get("then")
            .ok_or_else(|| ExpressionError::new(ErrorCode::Location40065, "a branch of $switch needs a then"))?;
        let (case, case_failures) = self.apart(case)?;
        let (then, then_failures) = self.apart(then)?;
        Ok((case, case_failures, then, then_failures))
    }
}
