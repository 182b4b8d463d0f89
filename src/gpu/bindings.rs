//! Bindings of shaders: layouts of bind groups, and the groups themselves, for compute and for
//! drawing.

use wgpu::{BindingType, BufferBindingType, ShaderStages};

/// A binding of a bind group; bindings are numbered in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A read-only storage buffer.
    Read,
    /// A writable storage buffer.
    Write,
    /// A uniform buffer.
    Uniform,
    /// A row of this many bytes in a uniform buffer; each dispatch gives its offset.
    Params(u64),
    /// A write-only storage texture of this format.
    Store(wgpu::TextureFormat),
    /// A texture of floats that can be filtered.
    Texture,
    /// A texture of floats that is only loaded from.
    Unfiltered,
    /// A filtering sampler.
    Sampler,
}

impl Binding {
    fn kind(self) -> BindingType {
        match self {
            Self::Read => buffer(BufferBindingType::Storage { read_only: true }, None),
            Self::Write => buffer(BufferBindingType::Storage { read_only: false }, None),
            Self::Uniform => buffer(BufferBindingType::Uniform, None),
            Self::Params(bytes) => buffer(BufferBindingType::Uniform, Some(bytes)),
            Self::Store(format) => BindingType::StorageTexture {
                access: wgpu::StorageTextureAccess::WriteOnly,
                format,
                view_dimension: wgpu::TextureViewDimension::D2,
            },
            Self::Texture => texture(true),
            Self::Unfiltered => texture(false),
            Self::Sampler => BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
        }
    }
}

/// The binding type of a buffer; with `row_bytes`, of a table row whose offset is given with each
/// dispatch.
fn buffer(ty: BufferBindingType, row_bytes: Option<u64>) -> BindingType {
    BindingType::Buffer {
        ty,
        has_dynamic_offset: row_bytes.is_some(),
        min_binding_size: row_bytes.and_then(wgpu::BufferSize::new),
    }
}

fn texture(filterable: bool) -> BindingType {
    BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable },
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    }
}

/// The layout of a bind group whose bindings are visible to these shader stages.
pub fn group_layout(
    device: &wgpu::Device,
    label: &str,
    visibility: ShaderStages,
    bindings: &[Binding],
) -> wgpu::BindGroupLayout {
    let entry = |(binding, kind): (u32, &Binding)| wgpu::BindGroupLayoutEntry {
        binding,
        visibility,
        ty: kind.kind(),
        count: None,
    };
    let entries: Vec<_> = (0u32..).zip(bindings).map(entry).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(label),
        entries: &entries,
    })
}

/// A bind group of these resources, in the order of the layout's bindings.
pub fn bind(
    device: &wgpu::Device,
    label: &str,
    layout: &wgpu::BindGroupLayout,
    resources: &[wgpu::BindingResource<'_>],
) -> wgpu::BindGroup {
    let entries: Vec<_> = (0u32..)
        .zip(resources)
        .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource: resource.clone() })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some(label),
        layout,
        entries: &entries,
    })
}

/// Number of cached bind groups: engines alternate between two or three sets of buffers.
const CACHED_GROUPS: usize = 6;

/// Bind groups of the `N` buffers that were used last.
#[derive(Debug)]
pub(crate) struct GroupCache<const N: usize>(Vec<([wgpu::Buffer; N], wgpu::BindGroup)>);

impl<const N: usize> GroupCache<N> {
    /// An empty cache.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// The bind group for these buffers, made by `make` if it is not cached.
    pub fn get(
        &mut self,
        buffers: [&wgpu::Buffer; N],
        make: impl FnOnce([&wgpu::Buffer; N]) -> wgpu::BindGroup,
    ) -> wgpu::BindGroup {
        let known = self.0.iter().find(|(known, _)| known.each_ref() == buffers);
        if let Some((_, group)) = known {
            return group.clone();
        }
        if self.0.len() == CACHED_GROUPS {
            self.0.remove(0);
        }
        let group = make(buffers);
        self.0.push((buffers.map(Clone::clone), group.clone()));
        group
    }

    /// Drops all groups, when other buffers are bound with those of the key.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// The layout of a pipeline with these bind groups.
pub(super) fn pipeline_layout(
    device: &wgpu::Device,
    label: &str,
    layouts: &[&wgpu::BindGroupLayout],
) -> wgpu::PipelineLayout {
    let layouts: Vec<_> = layouts.iter().map(|layout| Some(*layout)).collect();
    device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(label),
        bind_group_layouts: &layouts,
        immediate_size: 0,
    })
}
