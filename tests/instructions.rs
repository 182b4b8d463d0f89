//! How many machine instructions an interaction costs on an AMD GPU, by the real compiler.
//!
//! Mesa's RADV compiles for GPUs that are not there. This test asks it for the code of the force
//! kernel on navi21 and counts the inner loop, so that no change to the shaders, naga or their options
//! makes it longer unseen. Without RADV on the machine there is nothing to count, and the test says so.
//! The 13 that arithmetic needs: 3 subtractions, 3 fused multiply-adds, 1 reciprocal square root,
//! 3 multiplications, 3 fused multiply-adds.

use ash::vk;
use gravitile::force::{KernelConfig, KernelVariant};
use gravitile::gpu::{Checks, Language, translate};

const DRIVER: &str = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";

#[test]
fn the_inner_loop_is_tight() {
    if !std::path::Path::new(DRIVER).exists() {
        println!("no RADV here ({DRIVER}): nothing to count");
        return;
    }
    // SAFETY: the only test of this program, and no thread has been started.
    unsafe {
        std::env::set_var("VK_DRIVER_FILES", DRIVER);
        std::env::set_var("VK_ICD_FILENAMES", DRIVER);
        std::env::set_var("RADV_FORCE_FAMILY", "navi21");
    }
    let config =
        |r, u| KernelConfig { p: 256, q: 1, r, u, s: 1, untiled: false, checks: Checks::Off };
    // Measured with Mesa 22.3.6 and naga 30; the marks leave no room.
    for (r, u, most) in [(1, 1, 22.0), (1, 4, 18.3), (2, 4, 15.6), (4, 4, 14.3), (8, 2, 13.8)] {
        let variant = KernelVariant { config: config(r, u), guarded: false, potential: false };
        let assembly = assembly(&variant);
        let count = inner_loop(&assembly) as f64 / f64::from(r * u);
        println!("r = {r}, u = {u}: {count:.2} instructions per interaction");
        assert!(count >= 13.0, "r = {r}, u = {u}: {count} is less than the arithmetic needs");
        assert!(
            count <= most + 0.05,
            "r = {r}, u = {u}: {count:.2} are more than {most}:\n{assembly}"
        );
    }
    // The counter sees what run-time checks add.
    let checked = KernelConfig { checks: Checks::On, ..config(1, 4) };
    let assembly = assembly(&KernelVariant { config: checked, guarded: false, potential: false });
    assert!(inner_loop(&assembly) as f64 / 4.0 > 18.5);
}

/// Instructions from the loop's label to its backward branch, of the loop with the reciprocal root.
fn inner_loop(assembly: &str) -> usize {
    let lines: Vec<&str> = assembly.lines().map(str::trim).collect();
    let label =
        |line: &str| line.strip_suffix(':').filter(|l| l.starts_with("BB")).map(str::to_owned);
    let mut best = None;
    for (end, line) in lines.iter().enumerate() {
        let Some(target) = line.split_whitespace().find(|word| word.starts_with("BB")) else {
            continue;
        };
        if !line.starts_with("s_cbranch") && !line.starts_with("s_branch") {
            continue;
        }
        let is_target = |l: &str| label(l).as_deref() == Some(target);
        let Some(begin) = lines[..end].iter().position(|l| is_target(l)) else { continue };
        let body = &lines[begin..=end];
        if !body.iter().any(|l| l.starts_with("v_rsq_f32")) {
            continue;
        }
        let count = body.iter().filter(|l| is_instruction(l)).count();
        best = Some(best.map_or(count, |b: usize| b.min(count)));
    }
    best.unwrap_or_else(|| panic!("no loop with a reciprocal square root in\n{assembly}"))
}

fn is_instruction(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or("");
    ["v_", "s_", "ds_", "buffer_", "global_", "image_", "flat_"]
        .iter()
        .any(|p| first.starts_with(p))
}

/// The machine code of a kernel, as text.
fn assembly(variant: &KernelVariant) -> String {
    let text = variant.wgsl().unwrap();
    let bytes = translate("force", &text, Language::SpirV, variant.config.checks).unwrap();
    let code: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
    // SAFETY: plain Vulkan with handles that live to the end of the block; the process ends soon after.
    unsafe {
        let entry = ash::Entry::load().expect("the Vulkan loader should be there with a driver");
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        let instance = entry.create_instance(&create, None).expect("an instance");
        let physical = instance.enumerate_physical_devices().expect("devices");
        let physical = *physical.first().expect("RADV should offer its null device");
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let extensions = [ash::khr::pipeline_executable_properties::NAME.as_ptr()];
        let mut feature = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
            .pipeline_executable_info(true);
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut feature);
        let device = instance.create_device(physical, &create, None).expect("a device");

        let binding = |binding, kind| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(kind)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let storage = vk::DescriptorType::STORAGE_BUFFER;
        let bindings = [
            binding(0, storage),
            binding(1, storage),
            binding(2, storage),
            binding(3, vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC),
        ];
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let sets = [device.create_descriptor_set_layout(&create, None).expect("a set layout")];
        let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        let layout = device.create_pipeline_layout(&create, None).expect("a pipeline layout");
        let create = vk::ShaderModuleCreateInfo::default().code(&code);
        let module = device.create_shader_module(&create, None).expect("a module");
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main");
        let flags = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
            | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
        let create =
            [vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout)];
        let pipelines = device.create_compute_pipelines(vk::PipelineCache::null(), &create, None);
        let pipeline = pipelines.expect("a pipeline")[0];

        let properties = ash::khr::pipeline_executable_properties::Device::new(&instance, &device);
        let executable =
            vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
        let texts = properties.get_pipeline_executable_internal_representations(&executable);
        let mut representations = texts.expect("representations");
        let mut rooms: Vec<Vec<u8>> =
            representations.iter().map(|text| vec![0; text.data_size]).collect();
        for (text, room) in representations.iter_mut().zip(&mut rooms) {
            text.p_data = room.as_mut_ptr().cast();
        }
        let fetch = properties.fp().get_pipeline_executable_internal_representations_khr;
        let mut count = representations.len() as u32;
        let result = fetch(device.handle(), &executable, &mut count, representations.as_mut_ptr());
        assert_eq!(result, vk::Result::SUCCESS);
        let is_assembly = |name: &std::ffi::CStr| name.to_string_lossy().contains("ssembly");
        let found = representations
            .iter()
            .position(|text| is_assembly(text.name_as_c_str().unwrap_or_default()));
        let found = found.expect("the driver should give the assembly");
        let text = String::from_utf8_lossy(&rooms[found]).into_owned();
        device.destroy_pipeline(pipeline, None);
        device.destroy_shader_module(module, None);
        device.destroy_pipeline_layout(layout, None);
        device.destroy_descriptor_set_layout(sets[0], None);
        device.destroy_device(None);
        instance.destroy_instance(None);
        text
    }
}
