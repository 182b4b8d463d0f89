/* A Vulkan layer by which a test loses a device: once the file that LOSE_DEVICE names is there, submissions and waits fail
 * as those of a driver do whose GPU has fallen off the bus. It needs no header of Vulkan's, since it hands on what it is
 * given; the numbers are those of vulkan_core.h, the links those of vk_layer.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*Function)(void);
typedef Function (*Find)(void *object, const char *name);
enum { FAILED = -3, DEVICE_LOST = -4, OF_INSTANCE = 47, OF_DEVICE = 48, LINK = 0 };

struct InstanceLink {
    struct InstanceLink *next;
    Find find;
};
struct DeviceLink {
    struct DeviceLink *next;
    Find find_instance, find;
};
struct Info {
    int type;
    const struct Info *next;
    int what;
    union {
        struct InstanceLink *instance;
        struct DeviceLink *device;
    } link;
};

static void *the_instance;
static Find of_instance, of_device;

static struct Info *link_in(const struct Info *info, int type) {
    for (info = info->next; info; info = info->next)
        if (info->type == type && info->what == LINK) return (struct Info *)info;
    return NULL;
}

static int is_lost(void) {
    const char *file = getenv("LOSE_DEVICE");
    return file && access(file, F_OK) == 0;
}

static int create_instance(const struct Info *info, const void *memory, void **made) {
    struct Info *link = link_in(info, OF_INSTANCE);
    if (!link) return FAILED;
    of_instance = link->link.instance->find;
    link->link.instance = link->link.instance->next;
    int done = ((int (*)(const struct Info *, const void *, void **))of_instance(NULL, "vkCreateInstance"))(
        info, memory, made);
    if (done == 0) the_instance = *made;
    return done;
}

static int create_device(void *adapter, const struct Info *info, const void *memory, void **made) {
    struct Info *link = link_in(info, OF_DEVICE);
    if (!link) return FAILED;
    Find find = link->link.device->find_instance;
    of_device = link->link.device->find;
    link->link.device = link->link.device->next;
    return ((int (*)(void *, const struct Info *, const void *, void **))find(the_instance, "vkCreateDevice"))(
        adapter, info, memory, made);
}

/* There is one device, of which every queue is. */
static void *the_device;

static int create_the_device(void *adapter, const struct Info *info, const void *memory, void **made) {
    int done = create_device(adapter, info, memory, made);
    if (done == 0) the_device = *made;
    return done;
}

static int submit(void *queue, uint32_t count, const void *work, uint64_t fence) {
    if (is_lost()) return DEVICE_LOST;
    return ((int (*)(void *, uint32_t, const void *, uint64_t))of_device(the_device, "vkQueueSubmit"))(
        queue, count, work, fence);
}

static int wait_semaphores(void *device, const void *info, uint64_t timeout) {
    if (is_lost()) return DEVICE_LOST;
    return ((int (*)(void *, const void *, uint64_t))of_device(device, "vkWaitSemaphores"))(device, info, timeout);
}

static int wait_fences(void *device, uint32_t count, const void *fences, uint32_t all, uint64_t timeout) {
    if (is_lost()) return DEVICE_LOST;
    return ((int (*)(void *, uint32_t, const void *, uint32_t, uint64_t))of_device(device, "vkWaitForFences"))(
        device, count, fences, all, timeout);
}

static int counter(void *device, uint64_t semaphore, uint64_t *value) {
    if (is_lost()) return DEVICE_LOST;
    return ((int (*)(void *, uint64_t, uint64_t *))of_device(device, "vkGetSemaphoreCounterValue"))(
        device, semaphore, value);
}

Function lose_of_device(void *device, const char *name);
Function lose_of_instance(void *instance, const char *name);

static Function own(const char *name) {
    static const struct {
        const char *name;
        Function function;
    } ALL[] = {
        {"vkGetInstanceProcAddr", (Function)lose_of_instance},
        {"vkGetDeviceProcAddr", (Function)lose_of_device},
        {"vkCreateInstance", (Function)create_instance},
        {"vkCreateDevice", (Function)create_the_device},
        {"vkQueueSubmit", (Function)submit},
        {"vkWaitSemaphores", (Function)wait_semaphores},
        {"vkWaitSemaphoresKHR", (Function)wait_semaphores},
        {"vkGetSemaphoreCounterValue", (Function)counter},
        {"vkGetSemaphoreCounterValueKHR", (Function)counter},
        {"vkWaitForFences", (Function)wait_fences},
    };
    for (size_t k = 0; k < sizeof ALL / sizeof *ALL; k++)
        if (strcmp(name, ALL[k].name) == 0) return ALL[k].function;
    return NULL;
}

Function lose_of_device(void *device, const char *name) {
    Function found = own(name);
    return found ? found : of_device(device, name);
}

Function lose_of_instance(void *instance, const char *name) {
    Function found = own(name);
    return found ? found : of_instance ? of_instance(instance, name) : NULL;
}
