/* A Vulkan layer that simulates device loss. Once the file named by LOSE_DEVICE exists, submissions
 * and waits fail as with a driver whose GPU has fallen off the bus: for all devices of the process
 * or, if the file begins with a number, for the device created as that one, counted from 1.
 * Vulkan's headers are not needed, since arguments are passed through; constants are from
 * vulkan_core.h, structures from vk_layer.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A created instance or device. Its adapters or queues have the same dispatch table pointer in
 * their first word, by which loaders and layers find the owner. */
struct Made {
    void *table, *object;
    Find find;
};
struct All {
    size_t count;
    struct Made made[64];
};
static struct All instances, devices;

static void remember(struct All *all, void *object, Find find) {
    if (all->count == sizeof all->made / sizeof *all->made) abort();
    all->made[all->count++] = (struct Made){*(void **)object, object, find};
}

/* The newest match: addresses of freed tables are reused. */
static struct Made *owner(struct All *all, void *object) {
    for (size_t k = all->count; k-- > 0;)
        if (all->made[k].table == *(void **)object) return &all->made[k];
    abort();
}

static struct Info *link_in(const struct Info *info, int type) {
    for (info = info->next; info; info = info->next)
        if (info->type == type && info->what == LINK) return (struct Info *)info;
    return NULL;
}

static int is_lost(const struct Made *device) {
    const char *name = getenv("LOSE_DEVICE");
    FILE *file = name ? fopen(name, "r") : NULL;
    if (!file) return 0;
    int number = 0, is_one = fscanf(file, "%d", &number) == 1;
    fclose(file);
    return !is_one || device - devices.made == number - 1;
}

static int create_instance(const struct Info *info, const void *memory, void **made) {
    struct Info *link = link_in(info, OF_INSTANCE);
    if (!link) return FAILED;
    Find find = link->link.instance->find;
    link->link.instance = link->link.instance->next;
    int done = ((int (*)(const struct Info *, const void *, void **))find(NULL, "vkCreateInstance"))(info, memory, made);
    if (done == 0) remember(&instances, *made, find);
    return done;
}

static int create_device(void *adapter, const struct Info *info, const void *memory, void **made) {
    struct Info *link = link_in(info, OF_DEVICE);
    if (!link) return FAILED;
    Find find = link->link.device->find_instance, of_device = link->link.device->find;
    link->link.device = link->link.device->next;
    void *instance = owner(&instances, adapter)->object;
    int done = ((int (*)(void *, const struct Info *, const void *, void **))find(instance, "vkCreateDevice"))(
        adapter, info, memory, made);
    if (done == 0) remember(&devices, *made, of_device);
    return done;
}

static int submit(void *queue, uint32_t count, const void *work, uint64_t fence) {
    struct Made *own = owner(&devices, queue);
    if (is_lost(own)) return DEVICE_LOST;
    return ((int (*)(void *, uint32_t, const void *, uint64_t))own->find(own->object, "vkQueueSubmit"))(
        queue, count, work, fence);
}

static int wait_semaphores(void *device, const void *info, uint64_t timeout) {
    struct Made *own = owner(&devices, device);
    if (is_lost(own)) return DEVICE_LOST;
    return ((int (*)(void *, const void *, uint64_t))own->find(device, "vkWaitSemaphores"))(device, info, timeout);
}

static int wait_fences(void *device, uint32_t count, const void *fences, uint32_t all, uint64_t timeout) {
    struct Made *own = owner(&devices, device);
    if (is_lost(own)) return DEVICE_LOST;
    return ((int (*)(void *, uint32_t, const void *, uint32_t, uint64_t))own->find(device, "vkWaitForFences"))(
        device, count, fences, all, timeout);
}

static int counter(void *device, uint64_t semaphore, uint64_t *value) {
    struct Made *own = owner(&devices, device);
    if (is_lost(own)) return DEVICE_LOST;
    return ((int (*)(void *, uint64_t, uint64_t *))own->find(device, "vkGetSemaphoreCounterValue"))(
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
        {"vkCreateDevice", (Function)create_device},
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
    return found ? found : owner(&devices, device)->find(device, name);
}

Function lose_of_instance(void *instance, const char *name) {
    Function found = own(name);
    return found ? found : instance ? owner(&instances, instance)->find(instance, name) : NULL;
}
