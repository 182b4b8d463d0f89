//! Runs a kernel's text on the host, all threads of a workgroup in step: enough of WGSL for kernels
//! of all pairs.

use std::collections::HashMap;

use naga::{
    AddressSpace, BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable,
    MathFunction, Module, ScalarKind, Statement, TypeInner, UnaryOperator,
};

use super::{Access, Recorder};

/// Beyond this number of evaluations of expressions, by all threads, a loop counts as endless: this
/// number for each pair of a sink and a source (the chapter's kernel takes 30), but at least
/// [`LEAST`].
const PER_PAIR: usize = 100;
/// The bound for kernels with few pairs.
const LEAST: usize = 10_000_000;

/// Why a kernel that seems to be endless cannot be followed.
pub const ENDLESS: &str = "it does not end: a loop turns for ever, or for very long";

/// Why a kernel cannot be followed to its end.
pub type Traced<T> = std::result::Result<T, String>;

/// A value of a thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `f32`.
    F(f32),
    /// `u32`.
    U(u32),
    /// `i32`.
    I(i32),
    /// `bool`.
    B(bool),
    /// A vector, an array or a structure.
    Many(Vec<Value>),
    /// A place in memory.
    At(MemoryPlace),
}

/// A place in memory: a variable, and which member, element or component of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPlace {
    root: PlaceRoot,
    path: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PlaceRoot {
    Global(Handle<naga::GlobalVariable>),
    Local(Handle<LocalVariable>),
}

type Lanes<T> = Vec<T>;

/// A workgroup: its module, the variables that its threads share, and what they touched.
pub struct Workgroup<'m> {
    module: &'m Module,
    lanes: usize,
    shared: HashMap<Handle<naga::GlobalVariable>, Value>,
    private: HashMap<Handle<naga::GlobalVariable>, Lanes<Value>>,
    /// What the threads touched.
    pub recorder: Recorder,
    /// Evaluations so far, and the most.
    spent: usize,
    most: usize,
}

struct CallFrame<'m> {
    function: &'m Function,
    arguments: Vec<Lanes<Value>>,
    locals: HashMap<Handle<LocalVariable>, Lanes<Value>>,
    values: HashMap<Handle<Expression>, Lanes<Option<Value>>>,
    returned: Lanes<Option<Value>>,
    is_entry: bool,
}

/// Which threads continue with the next statement, break out of the enclosing loop, or start its
/// next iteration.
struct Flow {
    next: Lanes<bool>,
    broke: Lanes<bool>,
    continued: Lanes<bool>,
}

fn any(mask: &[bool]) -> bool {
    mask.iter().any(|active| *active)
}

impl<'m> Workgroup<'m> {
    /// A workgroup of that many threads; `shared` are the buffers.
    pub fn new(
        module: &'m Module,
        (lanes, pairs): (usize, usize),
        shared: HashMap<Handle<naga::GlobalVariable>, Value>,
    ) -> Traced<Self> {
        let mut workgroup = Self {
            module,
            lanes,
            shared,
            private: HashMap::new(),
            recorder: Recorder::default(),
            spent: 0,
            most: (PER_PAIR * pairs).max(LEAST),
        };
        for (handle, variable) in module.global_variables.iter() {
            match variable.space {
                AddressSpace::WorkGroup => {
                    let zero = workgroup.zero(variable.ty)?;
                    workgroup.shared.insert(handle, zero);
                }
                AddressSpace::Private => {
                    let value = match variable.init {
                        Some(init) => workgroup.constant(init)?,
                        None => workgroup.zero(variable.ty)?,
                    };
                    workgroup.private.insert(handle, vec![value; lanes]);
                }
                _ => {}
            }
        }
        Ok(workgroup)
    }

    /// Runs the entry point with these arguments for each thread.
    pub fn run(&mut self, entry: &'m Function, arguments: Vec<Lanes<Value>>) -> Traced<()> {
        let mask = vec![true; self.lanes];
        self.call(entry, arguments, &mask, true).map(|_| ())
    }

    fn call(
        &mut self,
        function: &'m Function,
        arguments: Vec<Lanes<Value>>,
        mask: &[bool],
        is_entry: bool,
    ) -> Traced<Lanes<Option<Value>>> {
        let mut frame = CallFrame {
            function,
            arguments,
            locals: HashMap::new(),
            values: HashMap::new(),
            returned: vec![None; self.lanes],
            is_entry,
        };
        for (handle, local) in function.local_variables.iter() {
            let values = match local.init {
                Some(init) => self
                    .evaluate(&mut frame, init, mask)?
                    .into_iter()
                    .map(|v| v.unwrap_or(Value::U(0)))
                    .collect(),
                None => vec![self.zero(local.ty)?; self.lanes],
            };
            frame.locals.insert(handle, values);
        }
        self.block(&mut frame, &function.body, mask.to_vec())?;
        Ok(frame.returned)
    }

    fn block(
        &mut self,
        frame: &mut CallFrame<'m>,
        block: &'m Block,
        mask: Lanes<bool>,
    ) -> Traced<Flow> {
        let none = vec![false; self.lanes];
        let mut flow = Flow { next: mask, broke: none.clone(), continued: none.clone() };
        for statement in block.iter() {
            if !any(&flow.next) {
                break;
            }
            match statement {
                Statement::Emit(range) => {
                    for handle in range.clone() {
                        let values = self.compute(frame, handle, &flow.next)?;
                        // Threads that are not at work keep what they had.
                        let known =
                            frame.values.entry(handle).or_insert_with(|| vec![None; values.len()]);
                        for (known, value) in known.iter_mut().zip(values) {
                            if value.is_some() {
                                *known = value;
                            }
                        }
                    }
                }
                Statement::Block(inner) => {
                    let mask = std::mem::replace(&mut flow.next, none.clone());
                    let inner = self.block(frame, inner, mask)?;
                    merge(&mut flow, inner);
                }
                Statement::If { condition, accept, reject } => {
                    let condition = self.evaluate(frame, *condition, &flow.next)?;
                    let split = |outcome: bool| -> Lanes<bool> {
                        let is = |(active, value): (&bool, &Option<Value>)| {
                            *active && *value == Some(Value::B(outcome))
                        };
                        flow.next.iter().zip(&condition).map(is).collect()
                    };
                    let (yes, no) = (split(true), split(false));
                    let yes = self.block(frame, accept, yes)?;
                    let no = self.block(frame, reject, no)?;
                    flow.next = none.clone();
                    merge(&mut flow, yes);
                    merge(&mut flow, no);
                }
                Statement::Loop { body, continuing, break_if } => {
                    let mut active = flow.next.clone();
                    let mut left = none.clone();
                    while any(&active) {
                        let inner = self.block(frame, body, active)?;
                        or(&mut left, &inner.broke);
                        let mut again = inner.next;
                        or(&mut again, &inner.continued);
                        active = self.block(frame, continuing, again)?.next;
                        if let Some(condition) = break_if {
                            let values = self.evaluate(frame, *condition, &active)?;
                            for (lane, value) in values.iter().enumerate() {
                                if active[lane] && *value == Some(Value::B(true)) {
                                    (active[lane], left[lane]) = (false, true);
                                }
                            }
                        }
                    }
                    flow.next = left;
                }
                Statement::Switch { selector, cases } => {
                    let selected = self.evaluate(frame, *selector, &flow.next)?;
                    let mut left = none.clone();
                    let mut falling = none.clone();
                    let mut open = flow.next.clone();
                    for case in cases {
                        let is = |value: &Option<Value>| match (case.value, value) {
                            (naga::SwitchValue::I32(a), Some(Value::I(b))) => a == *b,
                            (naga::SwitchValue::U32(a), Some(Value::U(b))) => a == *b,
                            _ => false,
                        };
                        let is_default = case.value == naga::SwitchValue::Default;
                        let mut mask = std::mem::replace(&mut falling, none.clone());
                        for lane in 0..self.lanes {
                            if open[lane] && (is(&selected[lane]) || is_default) {
                                (mask[lane], open[lane]) = (true, false);
                            }
                        }
                        let inner = self.block(frame, &case.body, mask)?;
                        or(&mut left, &inner.broke);
                        or(&mut flow.continued, &inner.continued);
                        match case.fall_through {
                            true => falling = inner.next,
                            false => or(&mut left, &inner.next),
                        }
                    }
                    or(&mut left, &open);
                    flow.next = left;
                }
                Statement::Break => flow.broke = std::mem::replace(&mut flow.next, none.clone()),
                Statement::Continue => {
                    flow.continued = std::mem::replace(&mut flow.next, none.clone())
                }
                Statement::Return { value } => {
                    let values = match value {
                        Some(value) => self.evaluate(frame, *value, &flow.next)?,
                        None => vec![None; self.lanes],
                    };
                    for (lane, value) in values.into_iter().enumerate() {
                        if flow.next[lane] {
                            frame.returned[lane] = value;
                        }
                    }
                    flow.next = none.clone();
                }
                Statement::ControlBarrier(_) => {
                    if frame.is_entry && flow.next.iter().any(|active| !active) {
                        let missing = flow.next.iter().position(|active| !active).unwrap_or(0);
                        self.recorder.missed_barrier(missing);
                    }
                    self.recorder.barrier();
                }
                Statement::MemoryBarrier(_) => {}
                Statement::Store { pointer, value } => {
                    let places = self.evaluate(frame, *pointer, &flow.next)?;
                    let values = self.evaluate(frame, *value, &flow.next)?;
                    let mut accesses = Vec::new();
                    for (lane, (place, value)) in places.into_iter().zip(values).enumerate() {
                        if let (true, Some(Value::At(place)), Some(value)) =
                            (flow.next[lane], place, value)
                        {
                            accesses.extend(self.access(frame, lane, &place, true)?);
                            if let Some(slot) = self.slot(frame, lane, &place) {
                                *slot = value;
                            }
                        }
                    }
                    self.recorder.together(&accesses);
                }
                Statement::Call { function, arguments, result } => {
                    let mut given: Vec<Lanes<Value>> = Vec::with_capacity(arguments.len());
                    for argument in arguments {
                        let values = self.evaluate(frame, *argument, &flow.next)?;
                        given.push(values.into_iter().map(|v| v.unwrap_or(Value::U(0))).collect());
                    }
                    if given.iter().flatten().any(|value| {
                        matches!(value, Value::At(MemoryPlace { root: PlaceRoot::Local(_), .. }))
                    }) {
                        return Err(
                            "a function takes a pointer to a variable of another".to_owned()
                        );
                    }
                    let returned =
                        self.call(&self.module.functions[*function], given, &flow.next, false)?;
                    if let Some(result) = result {
                        frame.values.insert(*result, returned);
                    }
                }
                _ => {
                    return Err(
                        "it has a statement that is not known here (atomics, subgroups)".to_owned()
                    );
                }
            }
        }
        Ok(flow)
    }

    /// The values of an expression: known, or of a kind that needs no statement.
    fn evaluate(
        &mut self,
        frame: &mut CallFrame<'m>,
        handle: Handle<Expression>,
        mask: &[bool],
    ) -> Traced<Lanes<Option<Value>>> {
        match frame.values.get(&handle) {
            Some(values) => Ok(values.clone()),
            None => self.compute(frame, handle, mask),
        }
    }

    fn compute(
        &mut self,
        frame: &mut CallFrame<'m>,
        handle: Handle<Expression>,
        mask: &[bool],
    ) -> Traced<Lanes<Option<Value>>> {
        self.spent += mask.iter().filter(|active| **active).count();
        if self.spent > self.most {
            return Err(ENDLESS.to_owned());
        }
        let function = frame.function;
        let mut operand = |this: &mut Self, handle| this.evaluate(frame, handle, mask);
        let lanes = self.lanes;
        // One result per thread at work, from its operands.
        let each = |operands: &[Lanes<Option<Value>>],
                    f: &mut dyn FnMut(&[Value]) -> Traced<Value>| {
            (0..lanes)
                .map(|lane| {
                    if !mask[lane] {
                        return Ok(None);
                    }
                    let values: Option<Vec<Value>> =
                        operands.iter().map(|values| values[lane].clone()).collect();
                    values.map(|values| f(&values)).transpose()
                })
                .collect::<Traced<Lanes<Option<Value>>>>()
        };
        let same = |value: Value| Ok(vec![Some(value); lanes]);
        match &function.expressions[handle] {
            Expression::Literal(literal) => same(of_literal(*literal)?),
            Expression::Constant(constant) => {
                same(self.constant(self.module.constants[*constant].init)?)
            }
            Expression::ZeroValue(ty) => same(self.zero(*ty)?),
            Expression::FunctionArgument(i) => {
                Ok(frame.arguments[*i as usize].iter().cloned().map(Some).collect())
            }
            Expression::GlobalVariable(variable) => same(Value::At(MemoryPlace {
                root: PlaceRoot::Global(*variable),
                path: Vec::new(),
            })),
            Expression::LocalVariable(variable) => {
                same(Value::At(MemoryPlace { root: PlaceRoot::Local(*variable), path: Vec::new() }))
            }
            Expression::Compose { ty, components } => {
                let is_vector = matches!(self.module.types[*ty].inner, TypeInner::Vector { .. });
                let parts = components
                    .iter()
                    .map(|part| operand(self, *part))
                    .collect::<Traced<Vec<_>>>()?;
                each(&parts, &mut |parts| {
                    // Vectors are put together from scalars and vectors.
                    let flat = parts.iter().flat_map(|part| match part {
                        Value::Many(inner) if is_vector => inner.clone(),
                        other => vec![other.clone()],
                    });
                    Ok(Value::Many(flat.collect()))
                })
            }
            Expression::Access { base, index } => {
                let operands = [operand(self, *base)?, operand(self, *index)?];
                each(&operands, &mut |values| at(&values[0], index_of(&values[1])?))
            }
            Expression::AccessIndex { base, index } => {
                let index = *index;
                each(&[operand(self, *base)?], &mut |values| at(&values[0], index))
            }
            Expression::Splat { size, value } => {
                let size = *size as usize;
                each(&[operand(self, *value)?], &mut |values| {
                    Ok(Value::Many(vec![values[0].clone(); size]))
                })
            }
            Expression::Swizzle { size, vector, pattern } => {
                let pattern = &pattern[..*size as usize];
                each(&[operand(self, *vector)?], &mut |values| {
                    many(pattern.iter().map(|component| at(&values[0], *component as u32)))
                })
            }
            Expression::Load { pointer } => {
                let places = operand(self, *pointer)?;
                let mut accesses = Vec::new();
                let mut values = vec![None; lanes];
                for (lane, place) in places.into_iter().enumerate() {
                    let (true, Some(Value::At(place))) = (mask[lane], place) else {
                        continue;
                    };
                    let access = self.access(frame, lane, &place, false)?;
                    accesses.extend(access);
                    values[lane] = match self.slot(frame, lane, &place) {
                        Some(slot) => Some(slot.clone()),
                        // Outside: recorded above; what lies there is nothing.
                        None => Some(self.zero_at(frame, &place)?),
                    };
                }
                self.recorder.together(&accesses);
                Ok(values)
            }
            Expression::Unary { op, expr } => {
                let op = *op;
                each(&[operand(self, *expr)?], &mut |values| {
                    map(&values[0], &|value| unary(op, value))
                })
            }
            Expression::Binary { op, left, right } => {
                let operands = [operand(self, *left)?, operand(self, *right)?];
                each(&operands, &mut |values| {
                    zip(&values[0], &values[1], &|a, b| binary(*op, a, b))
                })
            }
            Expression::Select { condition, accept, reject } => {
                let operands =
                    [operand(self, *condition)?, operand(self, *accept)?, operand(self, *reject)?];
                each(&operands, &mut |values| match &values[0] {
                    Value::B(yes) => Ok(values[if *yes { 1 } else { 2 }].clone()),
                    Value::Many(which) => {
                        let pick = |(k, yes): (usize, &Value)| {
                            at(&values[if *yes == Value::B(true) { 1 } else { 2 }], k as u32)
                        };
                        many(which.iter().enumerate().map(pick))
                    }
                    _ => Err("a condition that is none".to_owned()),
                })
            }
            Expression::Math { fun, arg, arg1, arg2, .. } => {
                let mut operands = vec![operand(self, *arg)?];
                for more in [arg1, arg2].into_iter().flatten() {
                    operands.push(operand(self, *more)?);
                }
                each(&operands, &mut |values| math(*fun, values))
            }
            Expression::As { expr, kind, convert } => {
                let (kind, converts) = (*kind, convert.is_some());
                each(&[operand(self, *expr)?], &mut |values| {
                    map(&values[0], &|value| cast(value, kind, converts))
                })
            }
            Expression::ArrayLength(array) => {
                let Some(Some(Value::At(place))) =
                    operand(self, *array)?.into_iter().find(Option::is_some)
                else {
                    return Err("the length of what is no array".to_owned());
                };
                let length = match self.slot(frame, 0, &place) {
                    Some(Value::Many(all)) => all.len() as u32,
                    _ => 0,
                };
                same(Value::U(length))
            }
            _ => Err("it has an expression that is not known here".to_owned()),
        }
    }

    /// The value at a place; `None` outside of it.
    fn slot<'s>(
        &'s mut self,
        frame: &'s mut CallFrame<'m>,
        lane: usize,
        place: &MemoryPlace,
    ) -> Option<&'s mut Value> {
        let mut value = match place.root {
            PlaceRoot::Local(local) => frame.locals.get_mut(&local)?.get_mut(lane)?,
            PlaceRoot::Global(global) => match self.private.get_mut(&global) {
                Some(values) => values.get_mut(lane)?,
                None => self.shared.get_mut(&global)?,
            },
        };
        for index in &place.path {
            let Value::Many(inner) = value else { return None };
            value = inner.get_mut(*index as usize)?;
        }
        Some(value)
    }

    /// What a thread touches, if other threads can: in workgroup memory or in a buffer.
    fn access(
        &mut self,
        frame: &mut CallFrame<'m>,
        lane: usize,
        place: &MemoryPlace,
        writes: bool,
    ) -> Traced<Option<Access>> {
        let PlaceRoot::Global(global) = place.root else { return Ok(None) };
        let variable = &self.module.global_variables[global];
        let in_workgroup = match variable.space {
            AddressSpace::WorkGroup => true,
            AddressSpace::Storage { .. } => false,
            _ => return Ok(None),
        };
        let (ty, offset, is_component) = self.follow(variable.ty, &place.path)?;
        let size = match self.module.types[ty].inner {
            TypeInner::Vector { size, .. } if !is_component => size as u64 * 4,
            _ => 4,
        };
        let name = variable.name.clone().unwrap_or_default();
        let inside = self.slot(frame, lane, place).is_some();
        Ok(Some(Access { lane, variable: name, in_workgroup, offset, size, writes, inside }))
    }

    /// The type behind a path into a `ty`, and its distance in bytes; of a component of a vector
    /// the vector's type, and true.
    fn follow(
        &self,
        mut ty: Handle<naga::Type>,
        path: &[u32],
    ) -> Traced<(Handle<naga::Type>, u64, bool)> {
        let mut offset = 0;
        for index in path.iter().map(|index| u64::from(*index)) {
            let (bytes, inner) = match &self.module.types[ty].inner {
                TypeInner::Array { base, stride, .. } => (index * u64::from(*stride), *base),
                TypeInner::Struct { members, .. } => {
                    let member = members.get(index as usize).ok_or("a member that is none")?;
                    (u64::from(member.offset), member.ty)
                }
                _ => return Ok((ty, offset + 4 * index, true)),
            };
            (offset, ty) = (offset + bytes, inner);
        }
        Ok((ty, offset, false))
    }

    fn zero_at(&self, frame: &CallFrame<'m>, place: &MemoryPlace) -> Traced<Value> {
        let root = match place.root {
            PlaceRoot::Global(global) => self.module.global_variables[global].ty,
            PlaceRoot::Local(local) => frame.function.local_variables[local].ty,
        };
        match self.follow(root, &place.path)? {
            (ty, _, false) => self.zero(ty),
            (ty, ..) => match self.module.types[ty].inner {
                TypeInner::Vector { scalar, .. } => Ok(of_word(scalar.kind, 0)),
                _ => Err("a part of what has none".to_owned()),
            },
        }
    }

    /// A value of only zeros.
    pub fn zero(&self, ty: Handle<naga::Type>) -> Traced<Value> {
        Ok(match &self.module.types[ty].inner {
            TypeInner::Scalar(scalar) => of_word(scalar.kind, 0),
            TypeInner::Vector { size, scalar } => {
                Value::Many(vec![of_word(scalar.kind, 0); *size as usize])
            }
            TypeInner::Array { base, size, .. } => {
                let naga::ArraySize::Constant(size) = size else {
                    return Err("an array without a length".to_owned());
                };
                if size.get() > 1 << 16 {
                    return Err(format!("an array of {size} entries"));
                }
                Value::Many(vec![self.zero(*base)?; size.get() as usize])
            }
            TypeInner::Struct { members, .. } => {
                many(members.iter().map(|member| self.zero(member.ty)))?
            }
            _ => return Err("it has a type that is not known here".to_owned()),
        })
    }

    /// The value of a constant.
    fn constant(&self, init: Handle<Expression>) -> Traced<Value> {
        match &self.module.global_expressions[init] {
            Expression::Literal(literal) => of_literal(*literal),
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::Constant(constant) => self.constant(self.module.constants[*constant].init),
            Expression::Splat { size, value } => {
                Ok(Value::Many(vec![self.constant(*value)?; *size as usize]))
            }
            Expression::Compose { components, .. } => {
                many(components.iter().map(|part| self.constant(*part)))
            }
            _ => Err("it has a constant that is not known here".to_owned()),
        }
    }
}

fn or(into: &mut [bool], other: &[bool]) {
    into.iter_mut().zip(other).for_each(|(a, b)| *a |= *b);
}

/// What follows a block inside another.
fn merge(flow: &mut Flow, inner: Flow) {
    or(&mut flow.next, &inner.next);
    or(&mut flow.broke, &inner.broke);
    or(&mut flow.continued, &inner.continued);
}

fn of_literal(literal: Literal) -> Traced<Value> {
    Ok(match literal {
        Literal::F32(value) => Value::F(value),
        Literal::U32(value) => Value::U(value),
        Literal::I32(value) => Value::I(value),
        Literal::Bool(value) => Value::B(value),
        Literal::AbstractInt(value) => Value::I(value as i32),
        Literal::AbstractFloat(value) => Value::F(value as f32),
        _ => return Err("it has numbers other than f32, u32, i32".to_owned()),
    })
}

/// The value of a kind that a word of memory holds.
pub fn of_word(kind: ScalarKind, word: u32) -> Value {
    match kind {
        ScalarKind::Float | ScalarKind::AbstractFloat => Value::F(f32::from_bits(word)),
        ScalarKind::Uint => Value::U(word),
        ScalarKind::Sint | ScalarKind::AbstractInt => Value::I(word as i32),
        ScalarKind::Bool => Value::B(word != 0),
    }
}

/// A vector, an array or a structure of these values.
pub fn many(values: impl Iterator<Item = Traced<Value>>) -> Traced<Value> {
    values.collect::<Traced<_>>().map(Value::Many)
}

fn index_of(value: &Value) -> Traced<u32> {
    match value {
        Value::U(index) => Ok(*index),
        // A negative index lies outside of everything.
        Value::I(index) => Ok(u32::try_from(*index).unwrap_or(u32::MAX)),
        _ => Err("an index that is no integer".to_owned()),
    }
}

fn at(value: &Value, index: u32) -> Traced<Value> {
    match value {
        Value::At(place) => {
            let mut place = place.clone();
            place.path.push(index);
            Ok(Value::At(place))
        }
        Value::Many(inner) => inner
            .get(index as usize)
            .cloned()
            .ok_or_else(|| format!("index {index} of {} values", inner.len())),
        _ => Err("an index of what has no parts".to_owned()),
    }
}

fn map(value: &Value, f: &dyn Fn(&Value) -> Traced<Value>) -> Traced<Value> {
    match value {
        Value::Many(inner) => many(inner.iter().map(|value| map(value, f))),
        value => f(value),
    }
}

/// Component by component; a scalar goes with each component of a vector.
fn zip(a: &Value, b: &Value, f: &dyn Fn(&Value, &Value) -> Traced<Value>) -> Traced<Value> {
    match (a, b) {
        (Value::Many(a), Value::Many(b)) => many(a.iter().zip(b).map(|(a, b)| f(a, b))),
        (Value::Many(a), b) => many(a.iter().map(|a| f(a, b))),
        (a, Value::Many(b)) => many(b.iter().map(|b| f(a, b))),
        (a, b) => f(a, b),
    }
}

fn unary(op: UnaryOperator, value: &Value) -> Traced<Value> {
    Ok(match (op, value) {
        (UnaryOperator::Negate, Value::F(x)) => Value::F(-x),
        (UnaryOperator::Negate, Value::I(x)) => Value::I(x.wrapping_neg()),
        (UnaryOperator::LogicalNot, Value::B(x)) => Value::B(!x),
        (UnaryOperator::BitwiseNot, Value::U(x)) => Value::U(!x),
        (UnaryOperator::BitwiseNot, Value::I(x)) => Value::I(!x),
        _ => return Err("an operation that is not known here".to_owned()),
    })
}

/// A comparison, if `op` is one.
fn compared<T: PartialOrd>(op: BinaryOperator, a: &T, b: &T) -> Option<Value> {
    use BinaryOperator as Op;
    Some(Value::B(match op {
        Op::Equal => a == b,
        Op::NotEqual => a != b,
        Op::Less => a < b,
        Op::LessEqual => a <= b,
        Op::Greater => a > b,
        Op::GreaterEqual => a >= b,
        _ => return None,
    }))
}

fn binary(op: BinaryOperator, a: &Value, b: &Value) -> Traced<Value> {
    use BinaryOperator as Op;
    let unknown = || Err("an operation that is not known here".to_owned());
    Ok(match (a, b) {
        (Value::F(a), Value::F(b)) => match op {
            Op::Add => Value::F(a + b),
            Op::Subtract => Value::F(a - b),
            Op::Multiply => Value::F(a * b),
            Op::Divide => Value::F(a / b),
            Op::Modulo => Value::F(a % b),
            _ => return compared(op, a, b).map_or_else(unknown, Ok),
        },
        (Value::U(a), Value::U(b)) => match op {
            Op::Add => Value::U(a.wrapping_add(*b)),
            Op::Subtract => Value::U(a.wrapping_sub(*b)),
            Op::Multiply => Value::U(a.wrapping_mul(*b)),
            Op::Divide => Value::U(a.checked_div(*b).unwrap_or(*a)),
            Op::Modulo => Value::U(a.checked_rem(*b).unwrap_or(0)),
            Op::And => Value::U(a & b),
            Op::InclusiveOr => Value::U(a | b),
            Op::ExclusiveOr => Value::U(a ^ b),
            Op::ShiftLeft => Value::U(a.wrapping_shl(*b)),
            Op::ShiftRight => Value::U(a.wrapping_shr(*b)),
            _ => return compared(op, a, b).map_or_else(unknown, Ok),
        },
        (Value::I(a), Value::I(b)) => match op {
            Op::Divide => Value::I(a.checked_div(*b).unwrap_or(*a)),
            Op::Modulo => Value::I(a.checked_rem(*b).unwrap_or(0)),
            // In two's complement these have the bits of unsigned numbers.
            Op::Add | Op::Subtract | Op::Multiply | Op::And | Op::InclusiveOr | Op::ExclusiveOr => {
                let bits = binary(op, &Value::U(*a as u32), &Value::U(*b as u32))?;
                return cast(&bits, ScalarKind::Sint, true);
            }
            _ => return compared(op, a, b).map_or_else(unknown, Ok),
        },
        (Value::I(a), Value::U(b)) => match op {
            Op::ShiftLeft => Value::I(a.wrapping_shl(*b)),
            Op::ShiftRight => Value::I(a.wrapping_shr(*b)),
            _ => return unknown(),
        },
        (Value::B(a), Value::B(b)) => match op {
            Op::LogicalAnd | Op::And => Value::B(*a && *b),
            Op::LogicalOr | Op::InclusiveOr => Value::B(*a || *b),
            Op::Equal => Value::B(a == b),
            Op::NotEqual => Value::B(a != b),
            _ => return unknown(),
        },
        _ => return unknown(),
    })
}

fn cast(value: &Value, kind: ScalarKind, converts: bool) -> Traced<Value> {
    Ok(match (value, kind) {
        (Value::F(x), ScalarKind::Uint) if !converts => Value::U(x.to_bits()),
        (Value::F(x), ScalarKind::Sint) if !converts => Value::I(x.to_bits() as i32),
        (Value::U(x), ScalarKind::Float) if !converts => Value::F(f32::from_bits(*x)),
        (Value::I(x), ScalarKind::Float) if !converts => Value::F(f32::from_bits(*x as u32)),
        (Value::F(x), ScalarKind::Uint) => Value::U(*x as u32),
        (Value::F(x), ScalarKind::Sint) => Value::I(*x as i32),
        (Value::U(x), ScalarKind::Float) => Value::F(*x as f32),
        (Value::I(x), ScalarKind::Float) => Value::F(*x as f32),
        (Value::U(x), ScalarKind::Sint) => Value::I(*x as i32),
        (Value::I(x), ScalarKind::Uint) => Value::U(*x as u32),
        (Value::B(x), ScalarKind::Uint) => Value::U(u32::from(*x)),
        (Value::B(x), ScalarKind::Sint) => Value::I(i32::from(*x)),
        (Value::B(x), ScalarKind::Float) => Value::F(f32::from(u8::from(*x))),
        (Value::U(x), ScalarKind::Bool) => Value::B(*x != 0),
        (Value::I(x), ScalarKind::Bool) => Value::B(*x != 0),
        (Value::F(x), ScalarKind::Bool) => Value::B(*x != 0.0),
        (value, _) => value.clone(),
    })
}

fn math(fun: MathFunction, values: &[Value]) -> Traced<Value> {
    use MathFunction as Fun;
    let unknown = || Err(format!("the function {fun:?} is not known here"));
    let floats = |value: &Value| -> Traced<Vec<f32>> {
        let Value::Many(inner) = value else {
            return Err("a vector that is none".to_owned());
        };
        let float = |value: &Value| match value {
            Value::F(x) => Ok(*x),
            _ => Err("a vector of other numbers".to_owned()),
        };
        inner.iter().map(float).collect()
    };
    let dot = |a: &Value, b: &Value| -> Traced<f32> {
        Ok(floats(a)?.iter().zip(floats(b)?).map(|(a, b)| a * b).sum())
    };
    let one = |f: fn(f32) -> f32| {
        map(&values[0], &|value| match value {
            Value::F(x) => Ok(Value::F(f(*x))),
            other => Ok(other.clone()),
        })
    };
    match fun {
        Fun::Dot => Ok(Value::F(dot(&values[0], &values[1])?)),
        Fun::Length => Ok(Value::F(dot(&values[0], &values[0])?.sqrt())),
        Fun::Sqrt => one(f32::sqrt),
        Fun::InverseSqrt => one(|x| x.sqrt().recip()),
        Fun::Abs => one(f32::abs),
        Fun::Floor => one(f32::floor),
        Fun::Exp2 => one(f32::exp2),
        Fun::Min | Fun::Max => zip(&values[0], &values[1], &|a, b| {
            let smaller = match (a, b) {
                (Value::F(a), Value::F(b)) => a < b,
                (Value::U(a), Value::U(b)) => a < b,
                (Value::I(a), Value::I(b)) => a < b,
                _ => return unknown(),
            };
            Ok(if smaller == (fun == Fun::Min) { a.clone() } else { b.clone() })
        }),
        Fun::Clamp => math(Fun::Min, &[math(Fun::Max, &values[..2])?, values[2].clone()]),
        Fun::Fma => {
            let product =
                zip(&values[0], &values[1], &|a, b| binary(BinaryOperator::Multiply, a, b))?;
            zip(&product, &values[2], &|a, b| binary(BinaryOperator::Add, a, b))
        }
        Fun::Pow => zip(&values[0], &values[1], &|a, b| match (a, b) {
            (Value::F(a), Value::F(b)) => Ok(Value::F(a.powf(*b))),
            _ => unknown(),
        }),
        _ => unknown(),
    }
}
