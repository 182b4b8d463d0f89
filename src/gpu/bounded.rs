//! Loops that end: for a text by somebody else, which might hold the device for ever.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{
    BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable, Range, Span,
    Statement,
};

use crate::error::{Error, Result};

/// The most turns of a loop of the entry point, all visits by a thread taken together.
pub const MOST_TURNS: u32 = 1 << 16;
/// The most turns of a loop of another function, per call.
pub const MOST_TURNS_OF_CALLS: u32 = 1 << 10;

/// The text with a counter in each loop, which leaves it after 65,536 turns, or
/// 1,024 in functions other than the entry point. Each loop has a counter of its
/// own: one for all would take its value from inner loops, and a barrier in the outer one would no
/// longer be in uniform control flow.
///
/// # Errors
/// [`Error::Shader`] with the compiler's message.
pub fn bounded(name: &str, text: &str) -> Result<String> {
    let failed = |problem: String| Error::Shader { name: name.to_owned(), problem };
    let mut module =
        naga::front::wgsl::parse_str(text).map_err(|error| failed(error.to_string()))?;
    let scalar = naga::Scalar::U32;
    let inner = naga::TypeInner::Scalar(scalar);
    let u32_type = module.types.insert(naga::Type { name: None, inner }, Span::UNDEFINED);
    for (_, function) in module.functions.iter_mut() {
        bound(function, u32_type, MOST_TURNS_OF_CALLS);
    }
    for entry in &mut module.entry_points {
        bound(&mut entry.function, u32_type, MOST_TURNS);
    }
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| failed(error.as_inner().to_string()))?;
    let flags = naga::back::wgsl::WriterFlags::empty();
    naga::back::wgsl::write_string(&module, &info, flags).map_err(|error| failed(error.to_string()))
}

fn bound(function: &mut Function, u32_type: Handle<naga::Type>, most: u32) {
    let mut body = std::mem::take(&mut function.body);
    bound_block(function, &mut body, u32_type, most);
    function.body = body;
}

fn bound_block(
    function: &mut Function,
    block: &mut Block,
    u32_type: Handle<naga::Type>,
    most: u32,
) {
    for statement in block.iter_mut() {
        match statement {
            Statement::Block(inner) => bound_block(function, inner, u32_type, most),
            Statement::If { accept, reject, .. } => {
                bound_block(function, accept, u32_type, most);
                bound_block(function, reject, u32_type, most);
            }
            Statement::Switch { cases, .. } => {
                for case in cases {
                    bound_block(function, &mut case.body, u32_type, most);
                }
            }
            Statement::Loop { body, .. } => {
                bound_block(function, body, u32_type, most);
                let counted = counter(function, u32_type, most);
                let mut all = Block::from_vec(counted);
                all.extend_block(std::mem::take(body));
                *body = all;
            }
            _ => {}
        }
    }
}

/// Statements that count a turn and leave the loop after the last.
fn counter(function: &mut Function, u32_type: Handle<naga::Type>, most: u32) -> Vec<Statement> {
    let span = Span::UNDEFINED;
    let expressions = &mut function.expressions;
    let zero = expressions.append(Expression::Literal(Literal::U32(0)), span);
    let local = LocalVariable { name: Some("turns".to_owned()), ty: u32_type, init: Some(zero) };
    let local = function.local_variables.append(local, span);
    let mut add = |expression| expressions.append(expression, span);
    let pointer = add(Expression::LocalVariable(local));
    let one = add(Expression::Literal(Literal::U32(1)));
    let limit = add(Expression::Literal(Literal::U32(most)));
    let before = add(Expression::Load { pointer });
    let after = add(Expression::Binary { op: BinaryOperator::Add, left: before, right: one });
    let done = add(Expression::Binary { op: BinaryOperator::Greater, left: after, right: limit });
    vec![
        Statement::Emit(Range::new_from_bounds(before, done)),
        Statement::Store { pointer, value: after },
        Statement::If {
            condition: done,
            accept: Block::from_vec(vec![Statement::Break]),
            reject: Block::new(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_has_a_counter_and_the_text_stays_valid() {
        let plain = include_str!("../../docs/lesson/plain.wgsl");
        let text = bounded("plain.wgsl", plain).unwrap();
        assert_eq!(text.matches("> 65536u").count(), 2, "{text}");
        assert!(crate::gpu::fault(&text).is_none(), "{text}");
        let endless =
            "fn f() { loop { } }\n@compute @workgroup_size(1) fn main() { while true { f(); } }";
        let text = bounded("mine.wgsl", endless).unwrap();
        assert_eq!(
            (text.matches("> 1024u").count(), text.matches("> 65536u").count()),
            (1, 1),
            "{text}"
        );
        assert!(bounded("mine.wgsl", "fn f(").is_err());
    }

    #[test]
    fn fault_has_its_place() {
        let fault = crate::gpu::fault("const A = 1;\n  fn f(x: vek3<f32>) {}\n").unwrap();
        assert_eq!((fault.line, fault.column), (2, 11));
        assert!(fault.message.contains("vek3") && !fault.message.contains("line 2"), "{fault:?}");
        assert_eq!(crate::gpu::fault("fn f() {}"), None);
    }
}
