/* Desktop only. The binary of an FMU: functions by version, those that are missing by name. */
#include "fmu.h"

#include <stdio.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

#define NAME_(symbol, name) #symbol,
const char *pl_fmu_call_name(int call) {
    static const char *const names[] = {"", "dlopen", PL_FMI2_FUNCTIONS(NAME_) PL_FMI3_FUNCTIONS(NAME_)};
    return call >= 0 && call < PL_CALL_N ? names[call] : "";
}

static void *function(const pl_fmu *f, const char *symbol) {
#ifdef _WIN32
    return (void *)GetProcAddress(f->library, symbol);
#else
    return dlsym(f->library, symbol);
#endif
}

/* A function pointer from an object pointer, which C does not convert. */
#define FIND_(symbol, name)                                                                                  \
    {                                                                                                        \
        void *found = function(f, #symbol);                                                                  \
        memcpy(&table->name, &found, sizeof found);                                                          \
    }

static void find2(const pl_fmu *f, pl_fmi2 *table) {
    PL_FMI2_FUNCTIONS(FIND_)
}

static void find3(const pl_fmu *f, pl_fmi3 *table) {
    PL_FMI3_FUNCTIONS(FIND_)
}

#define SHARE_(version, to, name)                                                                            \
    memcpy(&c->to, &f->f##version.name, sizeof c->to);                                                       \
    c->n_##to = PL_CALL##version##_##name;

static void share2(pl_fmu *f, pl_fmi_common *c) {
    SHARE_(2, set_time, set_time)
    SHARE_(2, set_states, set_continuous_states)
    SHARE_(2, get_derivatives, get_derivatives)
    SHARE_(2, get_indicators, get_event_indicators)
    SHARE_(2, get_states, get_continuous_states)
    SHARE_(2, get_nominals, get_nominals_of_continuous_states)
    SHARE_(2, exit_initialization, exit_initialization_mode)
    SHARE_(2, enter_event, enter_event_mode)
    SHARE_(2, enter_continuous, enter_continuous_time_mode)
    SHARE_(2, terminate, terminate)
    SHARE_(2, free_instance, free_instance)
}

static void share3(pl_fmu *f, pl_fmi_common *c) {
    SHARE_(3, set_time, set_time)
    SHARE_(3, set_states, set_continuous_states)
    SHARE_(3, get_derivatives, get_continuous_state_derivatives)
    SHARE_(3, get_indicators, get_event_indicators)
    SHARE_(3, get_states, get_continuous_states)
    SHARE_(3, get_nominals, get_nominals_of_continuous_states)
    SHARE_(3, exit_initialization, exit_initialization_mode)
    SHARE_(3, enter_event, enter_event_mode)
    SHARE_(3, enter_continuous, enter_continuous_time_mode)
    SHARE_(3, terminate, terminate)
    SHARE_(3, free_instance, free_instance)
}

/* ------------------------------------------------------------------------------------------------ completeness */

typedef struct missing {
    char *to;
    size_t room;
    int count;
} missing;

static void need(missing *m, int there, int call) {
    const char *name = pl_fmu_call_name(call);
    if (there || m->room <= strlen(name) + 3) return;
    int used = snprintf(m->to, m->room, "%s%s", m->count++ ? ", " : "", name);
    m->to += used;
    m->room -= (size_t)used;
}

static void need_both(const pl_fmu *f, missing *m) {
    const pl_fmi_common *c = &f->call;
    need(m, c->free_instance != NULL, c->n_free_instance);
    need(m, c->exit_initialization != NULL, c->n_exit_initialization);
    if (f->head->kind != PL_FMU_MODEL_EXCHANGE) return;
    need(m, c->enter_continuous != NULL, c->n_enter_continuous);
    need(m, c->enter_event != NULL, c->n_enter_event);
    need(m, c->set_time != NULL, c->n_set_time);
    if (f->head->n_roots > 0) need(m, c->get_indicators != NULL, c->n_get_indicators);
    if (f->vector[PL_FMU_X].n == 0) return;
    need(m, c->set_states != NULL, c->n_set_states);
    need(m, c->get_states != NULL, c->n_get_states);
    need(m, c->get_derivatives != NULL, c->n_get_derivatives);
}

static int complete(pl_fmu *f, char *to, size_t room) {
    missing m = {to, room, 0};
    int exchange = f->head->kind == PL_FMU_MODEL_EXCHANGE;
    if (f->head->version == 2) {
        need(&m, f->f2.instantiate != NULL, PL_CALL2_instantiate);
        need(&m, f->f2.setup_experiment != NULL, PL_CALL2_setup_experiment);
        need(&m, f->f2.enter_initialization_mode != NULL, PL_CALL2_enter_initialization_mode);
        if (exchange)
            need(&m, f->f2.new_discrete_states != NULL, PL_CALL2_new_discrete_states);
        else
            need(&m, f->f2.do_step != NULL, PL_CALL2_do_step);
    } else {
        need(&m, f->f3.enter_initialization_mode != NULL, PL_CALL3_enter_initialization_mode);
        if (exchange) {
            need(&m, f->f3.instantiate_model_exchange != NULL, PL_CALL3_instantiate_model_exchange);
            need(&m, f->f3.update_discrete_states != NULL, PL_CALL3_update_discrete_states);
        } else {
            need(&m, f->f3.instantiate_co_simulation != NULL, PL_CALL3_instantiate_co_simulation);
            need(&m, f->f3.do_step != NULL, PL_CALL3_do_step);
        }
    }
    need_both(f, &m);
    return m.count == 0;
}

/* The version and the types that the binary says it has. */
static void check_version(pl_fmu *f) {
    const char *version = NULL, *platform = PL_FMI2_PLATFORM;
    f->box->call = f->head->version == 2 ? PL_CALL2_get_version : PL_CALL3_get_version;
    if (f->head->version == 2 && f->f2.get_version) version = f->f2.get_version();
    if (f->head->version == 3 && f->f3.get_version) version = f->f3.get_version();
    f->box->call = PL_CALL2_get_types_platform;
    if (f->head->version == 2 && f->f2.get_types_platform) platform = f->f2.get_types_platform();
    f->box->call = -f->box->call;
    if (!version || version[0] != (char)('0' + f->head->version)) {
        snprintf(f->words, sizeof f->words,
                 "the binary says that it has FMI version \"%.40s\", the description says %d",
                 version ? version : "", (int)f->head->version);
        pl_fmu_warn(f, f->words);
    }
    if (!platform || strcmp(platform, PL_FMI2_PLATFORM) != 0) {
        snprintf(f->words, sizeof f->words, "the binary has types of the platform \"%.40s\", not of \"%s\"",
                 platform ? platform : "", PL_FMI2_PLATFORM);
        pl_fmu_warn(f, f->words);
    }
}

/* Binaries exist that were not linked with what every process that loaded them so far happened to have. */
static void open_usual(void) {
#ifdef __linux__
    static const char *const usual[] = {"libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"};
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++) (void)dlopen(usual[k], RTLD_LAZY | RTLD_GLOBAL);
#endif
}

static void *open_library(const char *path, char *words, size_t room) {
#ifdef _WIN32
    void *found = LoadLibraryA(path);
    if (!found) snprintf(words, room, "error %lu of LoadLibrary", GetLastError());
#else
    void *found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = found ? NULL : dlerror();
    if (!found) {
        snprintf(words, room, "%s", why ? why : "dlopen gives no reason");
        if (strstr(words, "undefined symbol")) {
            open_usual();
            found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
#endif
    return found;
}

/* Some binaries look for others from where they are; the folder to work in comes after. */
static void enter_folder_of(const char *path) {
#ifndef _WIN32
    char folder[4096];
    const char *end = strrchr(path, '/');
    if (!end || (size_t)(end - path) >= sizeof folder) return;
    memcpy(folder, path, (size_t)(end - path));
    folder[end - path] = 0;
    if (chdir(folder) != 0) return;
#else
    (void)path;
#endif
}

static void limit_memory(int64_t bytes) {
#ifndef _WIN32
    struct rlimit limit;
    if (bytes <= 0 || getrlimit(RLIMIT_DATA, &limit) != 0) return;
    if (limit.rlim_max == RLIM_INFINITY || (rlim_t)bytes < limit.rlim_max) limit.rlim_cur = (rlim_t)bytes;
    setrlimit(RLIMIT_DATA, &limit);
#else
    (void)bytes;
#endif
}

const char *pl_fmu_load(pl_fmu *f) {
    char why[1500];
    limit_memory(f->head->memory_limit);
    f->box->call = PL_CALL_LOAD;
    enter_folder_of(f->text[PL_FMU_BINARY]);
    f->library = open_library(f->text[PL_FMU_BINARY], why, sizeof why);
    f->box->call = -f->box->call;
    pl_box_mend(f->box);
    if (!f->library) {
        snprintf(f->words, sizeof f->words, "the binary cannot be loaded: %s", why);
        return f->words;
    }
    if (f->head->version == 2) {
        find2(f, &f->f2);
        share2(f, &f->call);
    } else {
        find3(f, &f->f3);
        share3(f, &f->call);
    }
    if (!complete(f, why, sizeof why)) {
        snprintf(f->words, sizeof f->words, "the binary lacks functions: %s", why);
        return f->words;
    }
    check_version(f);
    return NULL;
}
