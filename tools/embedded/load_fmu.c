/* Load the binary of an FMU 3.0, run co-simulation, print a digest of the positions: on machines that have no Python.
 *
 *     load_fmu LIBRARY TOKEN REFERENCE_OF_q_ref REFERENCE_OF_q JOINTS
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
static void *opened(const char *file) { return (void *)LoadLibraryA(file); }
static void *found(void *library, const char *name) { return (void *)GetProcAddress((HMODULE)library, name); }
#else
#include <dlfcn.h>
static void *opened(const char *file) { return dlopen(file, RTLD_NOW); }
static void *found(void *library, const char *name) { return dlsym(library, name); }
#endif

typedef void *Made(const char *, const char *, const char *, bool, bool, bool, bool, const uint32_t *, size_t, void *,
                   void *, void *);
typedef int Begin(void *, bool, double, double, bool, double);
typedef int Plain(void *);
typedef int Put(void *, const uint32_t *, size_t, const double *, size_t);
typedef int Get(void *, const uint32_t *, size_t, double *, size_t);
typedef int Step(void *, double, double, bool, bool *, bool *, bool *, double *);

int main(int count, char **words)
{
    void *library = (count == 6) ? opened(words[1]) : NULL;
    uint64_t digest = UINT64_C(1469598103934665603);
    double q[12];
    double last;
    bool a, b, c;
    int tick, k, joints, bad = 0;
    uint32_t goal, place;
    void *unit;
    if (library == NULL) {
        (void)printf("cannot load %s\n", words[1]);
        return 1;
    }
    unit = ((Made *)found(library, "fmi3InstantiateCoSimulation"))("it", words[2], "", false, false, false, false, NULL,
                                                                    0, NULL, NULL, NULL);
    goal = (uint32_t)atoi(words[3]);
    place = (uint32_t)atoi(words[4]);
    joints = atoi(words[5]);
    if (unit == NULL) {
        return 2;
    }
    bad += ((Begin *)found(library, "fmi3EnterInitializationMode"))(unit, false, 0.0, 0.0, false, 0.0);
    bad += ((Plain *)found(library, "fmi3ExitInitializationMode"))(unit);
    bad += ((Get *)found(library, "fmi3GetFloat64"))(unit, &place, 1, q, (size_t)joints);
    for (k = 0; k < joints; ++k) {
        q[k] += 0.25;
    }
    bad += ((Put *)found(library, "fmi3SetFloat64"))(unit, &goal, 1, q, (size_t)joints);
    for (tick = 0; tick < 500; ++tick) {
        bad += ((Step *)found(library, "fmi3DoStep"))(unit, tick * 0.002, 0.002, true, &a, &b, &c, &last);
        bad += ((Get *)found(library, "fmi3GetFloat64"))(unit, &place, 1, q, (size_t)joints);
        for (k = 0; k < joints; ++k) {
            uint64_t bits;
            (void)memcpy(&bits, &q[k], sizeof bits);
            digest = (digest ^ bits) * UINT64_C(1099511628211);
        }
    }
    (void)printf("faults %d digest %08lx%08lx\n", bad, (unsigned long)(digest >> 32), (unsigned long)(digest & 0xFFFFFFFFu));
    return bad;
}
