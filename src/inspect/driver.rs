//! Queries the driver: compiles a pipeline on a separate Vulkan device and collects what the driver
//! reports.

use std::ffi::{CStr, OsString};
use std::path::{Path, PathBuf};

use ash::khr::pipeline_executable_properties as extension;
use ash::vk;

use super::{CompilerReport, Statistic, inner_loop};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::KernelVariant;
use crate::forces::direct::gpu::tiers::DirectVariant;
use crate::gpu::{AdapterInfo, Binding, Checks, Language, translate};

/// A driver that reports on the kernels that it compiles.
pub struct Inspector {
    /// Keeps the driver's functions loaded.
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    properties: extension::Device,
    name: String,
    driver: String,
    /// Threads in its smallest subgroup.
    least_subgroup: u32,
}

impl Inspector {
    /// The driver of an available adapter.
    ///
    /// # Errors
    ///
    /// [`Error::Adapter`] if it is not driven through Vulkan or its driver reports nothing.
    pub fn present(adapter: &AdapterInfo) -> Result<Self> {
        let silent = |problem: String| Error::Adapter { adapter: adapter.name.clone(), problem };
        if adapter.backend != "vulkan" {
            return Err(silent(format!(
                "what its compiler makes of a kernel is reported by Vulkan drivers only, not through {}",
                adapter.backend
            )));
        }
        Self::open(&|properties| {
            (properties.vendor_id, properties.device_id) == adapter.pci
                && name_of(properties) == adapter.name
        })
        .map_err(silent)
    }

    /// Mesa's compiler for an AMD GPU that is not present: `navi21`, `gfx1100`, `vega10`,
    /// `polaris10`.
    ///
    /// # Errors
    ///
    /// [`Error::Outside`] if RADV is not installed; [`Error::Unknown`] lists the GPUs it knows.
    ///
    /// # Safety
    /// Sets environment variables that RADV reads, and restores them before it returns: no other
    /// thread may use the environment meanwhile.
    pub unsafe fn absent(family: &str) -> Result<Self> {
        let outside = |problem: String| Error::Outside(problem);
        let manifest = driver_manifest().ok_or_else(|| {
            outside(format!(
                "cannot compile for {family}: Mesa's RADV driver is not installed \
                 (on Debian or Ubuntu: sudo apt install mesa-vulkan-drivers libvulkan1)"
            ))
        })?;
        check_family(&manifest, family)?;
        // SAFETY: as the caller promises.
        let environment = unsafe { Environment::set(&manifest, family) };
        // The loader was given only this driver, and the driver only this GPU.
        let opened = Self::open(&|_| true);
        drop(environment);
        opened.map_err(|problem| outside(format!("RADV does not compile for {family}: {problem}")))
    }

    /// Opens the first device that passes `accepts` and has the extension; the error lists what
    /// is missing.
    fn open(accepts: &dyn Fn(&vk::PhysicalDeviceProperties) -> bool) -> Result<Self, String> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |code: vk::Result| format!("{what}: {code}")
        };
        // SAFETY: each handle is created from the previous one; everything created here is either
        // moved into the value, which destroys it on drop, or destroyed on the error path.
        unsafe {
            let entry = ash::Entry::load().map_err(|error| format!("no Vulkan loader: {error}"))?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
            let create = vk::InstanceCreateInfo::default().application_info(&application);
            let instance =
                entry.create_instance(&create, None).map_err(failed("no Vulkan instance"))?;
            match Self::open_device(&instance, accepts) {
                Ok((device, name, driver, least_subgroup)) => {
                    let properties = extension::Device::new(&instance, &device);
                    let _entry = entry;
                    Ok(Self { _entry, instance, device, properties, name, driver, least_subgroup })
                }
                Err(problem) => {
                    instance.destroy_instance(None);
                    Err(problem)
                }
            }
        }
    }

    /// # Safety
    /// The instance must be alive.
    unsafe fn open_device(
        instance: &ash::Instance,
        accepts: &dyn Fn(&vk::PhysicalDeviceProperties) -> bool,
    ) -> Result<(ash::Device, String, String, u32), String> {
        // SAFETY: the instance is alive, and the handles come from it.
        unsafe {
            let found = instance
                .enumerate_physical_devices()
                .map_err(|code| format!("no Vulkan device: {code}"))?;
            let accepted = found
                .into_iter()
                .find(|&device| accepts(&instance.get_physical_device_properties(device)));
            let physical = accepted.ok_or("its Vulkan driver does not offer the device")?;
            let offered =
                instance.enumerate_device_extension_properties(physical).unwrap_or_default();
            let offers = |extension: &vk::ExtensionProperties| {
                extension.extension_name_as_c_str().is_ok_and(|name| name == extension::NAME)
            };
            if !offered.iter().any(offers) {
                return Err("its driver does not report what it compiles \
                            (VK_KHR_pipeline_executable_properties is missing); \
                            '--gpu navi21' asks Mesa's compiler for an AMD GPU that need not be there"
                    .to_owned());
            }
            let mut about = vk::PhysicalDeviceDriverProperties::default();
            let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
            let mut properties = vk::PhysicalDeviceProperties2::default()
                .push_next(&mut about)
                .push_next(&mut sizes);
            instance.get_physical_device_properties2(physical, &mut properties);
            let name = name_of(&properties.properties);
            let words = [about.driver_name_as_c_str(), about.driver_info_as_c_str()];
            let words = words.map(|word| word.unwrap_or_default().to_string_lossy().into_owned());

            let families = instance.get_physical_device_queue_family_properties(physical);
            let computes =
                |f: &vk::QueueFamilyProperties| f.queue_flags.contains(vk::QueueFlags::COMPUTE);
            let family = families.iter().position(computes).unwrap_or(0) as u32;
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family)
                .queue_priorities(&[1.0])];
            let extensions = [extension::NAME.as_ptr()];
            let mut feature = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
                .pipeline_executable_info(true);
            let create = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&extensions)
                .push_next(&mut feature);
            let device = instance
                .create_device(physical, &create, None)
                .map_err(|code| format!("the device cannot be opened: {code}"))?;
            Ok((device, name, words.join(" ").trim().to_owned(), sizes.min_subgroup_size))
        }
    }

    /// Compiles a kernel and returns what the driver reports about it.
    ///
    /// [`CompilerReport::per_interaction`] gives the instructions per interaction.
    ///
    /// # Errors
    ///
    /// A shape out of range; a kernel that the driver does not compile.
    pub fn report(&self, variant: &KernelVariant) -> Result<CompilerReport> {
        variant.config.validate(None)?;
        let text = variant.wgsl()?;
        let bytes = translate(variant.file(), &text, Language::SpirV, variant.config.checks)?;
        let bindings = [Binding::Read, Binding::Read, Binding::Write, Binding::Params(0)];
        let roots = if variant.potential { 2 } else { 1 };
        self.report_on(&bytes, &bindings, *variant, &variant.config, roots)
    }

    /// The driver's report on a kernel for forces with derivatives.
    ///
    /// # Errors
    ///
    /// As [`Inspector::report`].
    pub fn report_direct(&self, variant: &DirectVariant) -> Result<CompilerReport<DirectVariant>> {
        variant.shape.validate()?;
        let (name, text) = (DirectVariant::FORCES, variant.forces()?);
        let bytes = translate(name, &text, Language::SpirV, Checks::Off)?;
        self.report_on(&bytes, &DirectVariant::BINDINGS, *variant, &variant.shape, 1)
    }

    fn report_on<V>(
        &self,
        spirv: &[u8],
        bindings: &[Binding],
        variant: V,
        shape: &dyn std::fmt::Display,
        roots: usize,
    ) -> Result<CompilerReport<V>> {
        let code: Vec<u32> = bytemuck::pod_collect_to_vec(spirv);
        let refused = |code: vk::Result| Error::Adapter {
            adapter: self.name.clone(),
            problem: format!("its driver does not compile {shape}: {code}"),
        };
        // SAFETY: the device is alive, and the value that `compile` returns destroys its handles on
        // drop.
        let pipeline =
            unsafe { Pipeline::compile(&self.device, &code, bindings) }.map_err(refused)?;
        // SAFETY: the pipeline is alive and was compiled with both capture flags.
        unsafe { self.query_report(pipeline.pipeline, variant, roots) }.map_err(refused)
    }

    /// # Safety
    /// The pipeline must be one of this device's, compiled with both capture flags.
    unsafe fn query_report<V>(
        &self,
        pipeline: vk::Pipeline,
        variant: V,
        roots: usize,
    ) -> Result<CompilerReport<V>, vk::Result> {
        // SAFETY: as the caller promises; pointers refer to buffers of the size that the driver
        // returned.
        unsafe {
            let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
            let executables = self.properties.get_pipeline_executable_properties(&info)?;
            let executable =
                vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
            let statistics = self.properties.get_pipeline_executable_statistics(&executable)?;
            let mut texts =
                self.properties.get_pipeline_executable_internal_representations(&executable)?;
            let mut rooms: Vec<Vec<u8>> =
                texts.iter().map(|text| vec![0; text.data_size]).collect();
            for (text, room) in texts.iter_mut().zip(&mut rooms) {
                text.p_data = room.as_mut_ptr().cast();
            }
            let mut count = texts.len() as u32;
            if count > 0 {
                let fetch =
                    self.properties.fp().get_pipeline_executable_internal_representations_khr;
                let code = fetch(self.device.handle(), &executable, &mut count, texts.as_mut_ptr());
                code.result()?;
            }
            let is_assembly = |text: &vk::PipelineExecutableInternalRepresentationKHR| {
                let name = text.name_as_c_str().unwrap_or_default().to_string_lossy();
                text.is_text == vk::TRUE && name.to_lowercase().contains("assembly")
            };
            let assembly = texts.iter().position(is_assembly).map(|found| {
                let text = String::from_utf8_lossy(&rooms[found]);
                text.trim_end_matches('\0').to_owned()
            });
            Ok(CompilerReport {
                device: self.name.clone(),
                driver: self.driver.clone(),
                variant,
                least_subgroup_size: self.least_subgroup,
                subgroup_size: executables.first().map_or(0, |executable| executable.subgroup_size),
                statistics: statistics.iter().map(statistic).filter(|s| !is_hash(s)).collect(),
                inner_loop: assembly.as_deref().and_then(|text| inner_loop(text, roots)),
                assembly,
            })
        }
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        // SAFETY: both were created by `open`, all objects created from them have been destroyed,
        // and neither is used again.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// A compiled kernel with its layouts and module.
struct Pipeline<'a> {
    device: &'a ash::Device,
    set: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    module: vk::ShaderModule,
    pipeline: vk::Pipeline,
}

impl<'a> Pipeline<'a> {
    /// # Safety
    /// The device must be alive; the code must be SPIR-V with these bindings.
    unsafe fn compile(
        device: &'a ash::Device,
        code: &[u32],
        bindings: &[Binding],
    ) -> Result<Self, vk::Result> {
        let mut created = Self {
            device,
            set: vk::DescriptorSetLayout::null(),
            layout: vk::PipelineLayout::null(),
            module: vk::ShaderModule::null(),
            pipeline: vk::Pipeline::null(),
        };
        let bindings: Vec<_> = (0u32..)
            .zip(bindings)
            .map(|(binding, kind)| {
                let kind = match kind {
                    Binding::Read | Binding::Write => vk::DescriptorType::STORAGE_BUFFER,
                    Binding::Params(_) => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
                    Binding::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
                    Binding::Store(_) => vk::DescriptorType::STORAGE_IMAGE,
                    Binding::Texture | Binding::Unfiltered => vk::DescriptorType::SAMPLED_IMAGE,
                    Binding::Sampler => vk::DescriptorType::SAMPLER,
                };
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(kind)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        // SAFETY: as the caller promises; on an early return the drop destroys the handles created
        // so far, and destroying a null handle does nothing.
        unsafe {
            let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            created.set = device.create_descriptor_set_layout(&create, None)?;
            let sets = [created.set];
            let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            created.layout = device.create_pipeline_layout(&create, None)?;
            let create = vk::ShaderModuleCreateInfo::default().code(code);
            created.module = device.create_shader_module(&create, None)?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(created.module)
                .name(c"main");
            let flags = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
            let create = vk::ComputePipelineCreateInfo::default()
                .flags(flags)
                .stage(stage)
                .layout(created.layout);
            let pipelines =
                device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None);
            created.pipeline = pipelines.map_err(|(_, code)| code)?[0];
        }
        Ok(created)
    }
}

impl Drop for Pipeline<'_> {
    fn drop(&mut self) {
        // SAFETY: the device outlives the borrow, and nothing here was submitted.
        unsafe {
            self.device.destroy_pipeline(self.pipeline, None);
            self.device.destroy_shader_module(self.module, None);
            self.device.destroy_pipeline_layout(self.layout, None);
            self.device.destroy_descriptor_set_layout(self.set, None);
        }
    }
}

fn statistic(raw: &vk::PipelineExecutableStatisticKHR<'_>) -> Statistic {
    use vk::PipelineExecutableStatisticFormatKHR as Format;
    let words = |text: Result<&CStr, _>| text.unwrap_or_default().to_string_lossy().into_owned();
    // SAFETY: the format says which member of the union the driver wrote; each is plain data.
    let value = unsafe {
        match raw.format {
            Format::BOOL32 => f64::from(raw.value.b32),
            Format::INT64 => raw.value.i64 as f64,
            Format::FLOAT64 => raw.value.f64,
            _ => raw.value.u64 as f64,
        }
    };
    let (name, description) = (raw.name_as_c_str(), raw.description_as_c_str());
    Statistic { name: words(name), description: words(description), value }
}

/// Whether a statistic is a checksum, which is meaningless to a reader.
fn is_hash(statistic: &Statistic) -> bool {
    statistic.name.to_lowercase().contains("hash")
}

fn name_of(properties: &vk::PhysicalDeviceProperties) -> String {
    let name = properties.device_name_as_c_str().unwrap_or_default().to_string_lossy().into_owned();
    // RADV's name for a GPU that is not present contains the GPU's name.
    match name.strip_prefix("Null hardware (").and_then(|rest| rest.strip_suffix(')')) {
        Some(absent) => absent.to_owned(),
        None => name,
    }
}

// RADV, configured by environment variables to compile for a GPU that is not present.

/// Folders in which Vulkan drivers install their manifests.
const FOLDERS: [&str; 4] = [
    "/usr/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/run/opengl-driver/share/vulkan/icd.d",
];

/// RADV's manifest, if it is installed.
pub fn driver_manifest() -> Option<PathBuf> {
    let is_radv = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Drivers for other processors may be installed in the same folder.
        let foreign = ["i686", "i386"].iter().any(|word| name.contains(word));
        name.starts_with("radeon_icd") && name.ends_with(".json") && !foreign
    };
    FOLDERS.iter().find_map(|folder| {
        let mut found: Vec<PathBuf> =
            std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        found.sort();
        found.into_iter().find(is_radv)
    })
}

/// Prefixes of AMD's names for GPU families.
const FAMILIES: &str = "aldebaran arcturus bonaire carrizo fiji gfx hainan hawaii iceland kabini kaveri navi \
    oland pitcairn polaris raphael raven rembrandt renoir stoney tahiti tonga vangogh \
    vega verde mi";

/// Folders to search if a manifest names the library without one.
const LIBRARIES: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// Families that RADV has long supported; assumed to be known if its library is not found.
const OLD: [&str; 6] = ["polaris10", "vega10", "raven", "renoir", "navi10", "navi21"];

/// Checks that the driver knows a family: an unknown one would abort the whole program.
pub(super) fn check_family(manifest: &Path, family: &str) -> Result<()> {
    let known = library_of(manifest)
        .and_then(|library| std::fs::read(library).ok())
        .map_or_else(|| OLD.map(str::to_owned).to_vec(), |library| families_in(&library));
    if known.iter().any(|name| name.eq_ignore_ascii_case(family)) {
        return Ok(());
    }
    Err(Error::unknown("GPU that RADV compiles for", family, known))
}

/// The library that a manifest names.
fn library_of(manifest: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(manifest).ok()?;
    let after = text.split_once("\"library_path\"")?.1.split_once(':')?.1;
    let path = Path::new(after.split('"').nth(1)?);
    let next_to_it = manifest.parent()?.join(path);
    let elsewhere = LIBRARIES.iter().map(|folder| Path::new(folder).join(path));
    std::iter::once(next_to_it).chain(elsewhere).find(|path| path.is_file())
}

/// Names of families among the texts of a library, in lower case.
fn families_in(library: &[u8]) -> Vec<String> {
    let is_name = |text: &&[u8]| {
        (4..=12).contains(&text.len())
            && text.iter().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == b'_')
    };
    let mut found: Vec<String> = library
        .split(|byte| *byte == 0)
        .filter(is_name)
        .map(|text| String::from_utf8_lossy(text).to_lowercase())
        .filter(|name| FAMILIES.split(' ').any(|family| name.starts_with(family)))
        // Accepts mi100 but not min_lod.
        .filter(|name| {
            name.strip_prefix("mi")
                .is_none_or(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Saved values of variables, restored on drop.
pub(super) struct Environment(Vec<(&'static str, Option<OsString>)>);

impl Environment {
    /// Sets the variables that make the loader use only RADV, and RADV use this GPU.
    ///
    /// # Safety
    /// No other thread may read or write the environment until the value is dropped.
    pub(super) unsafe fn set(manifest: &Path, family: &str) -> Self {
        let variables: [(&'static str, OsString); 3] = [
            ("VK_DRIVER_FILES", manifest.into()),
            // The same for loaders older than 1.3.207.
            ("VK_ICD_FILENAMES", manifest.into()),
            ("RADV_FORCE_FAMILY", family.into()),
        ];
        let before = variables.iter().map(|(name, _)| (*name, std::env::var_os(name))).collect();
        for (name, value) in &variables {
            // SAFETY: as the caller promises.
            unsafe { std::env::set_var(name, value) };
        }
        Self(before)
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        for (name, value) in &self.0 {
            // SAFETY: as the caller of `set` promises.
            unsafe {
                match value {
                    Some(value) => std::env::set_var(name, value),
                    None => std::env::remove_var(name),
                }
            }
        }
    }
}

#[cfg(test)]
mod absent_tests {
    use super::*;

    #[test]
    fn driver_library_lists_families_and_unknown_ones_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libradv.so");
        std::fs::write(&library, b"\x7fELF\0NAVI21\0Navi22\0GFX1103_R1\0PRO\0navi23\0x\0").unwrap();
        let manifest = folder.path().join("radeon_icd.json");
        let text = r#"{ "ICD": { "api_version": "1.3", "library_path": "libradv.so" } }"#;
        std::fs::write(&manifest, text).unwrap();
        assert_eq!(library_of(&manifest), Some(library));
        assert!(check_family(&manifest, "navi21").is_ok());
        assert!(check_family(&manifest, "NAVI21").is_ok());
        let error = check_family(&manifest, "navi23").unwrap_err().to_string();
        assert!(error.contains("'navi23'") && error.ends_with("gfx1103_r1, navi21"), "{error}");
        std::fs::write(&manifest, "{}").unwrap();
        assert!(check_family(&manifest, "navi21").is_ok());
        assert!(check_family(&manifest, "pro").is_err());
    }
}
