/* Run an exported tick on exact triangle waves and print a digest of every bit of its outputs.
 *
 * A wave is start + size*w/4096, w a whole number from -4096 to 4096 that goes up and down: its value is rounded alike
 * everywhere. NAME is the artefact, INPUTS and OUTPUTS are how many numbers its structures have.
 */
#include HEADER

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waves.h"

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)

static NAMED(NAME, _state) state;
static NAMED(NAME, _input) input;
static NAMED(NAME, _output) output;

static uint64_t digest = UINT64_C(1469598103934665603);

static void mixed(const REAL *values, int count)
{
    int k;
    for (k = 0; k < count; ++k) {
        uint64_t bits = 0;
        (void)memcpy(&bits, &values[k], sizeof values[k]);
        digest = (digest ^ bits) * UINT64_C(1099511628211);
    }
}

#ifdef TIMER
#define TIMER_CONTROL (*(volatile uint32_t *)0x40000000u)
#define TIMER_VALUE (*(volatile uint32_t *)0x40000004u)
#define TIMER_RELOAD (*(volatile uint32_t *)0x40000008u)
static double spent;
#endif

int main(int count, char **words)
{
    const long ticks = (count > 1) ? atol(words[1]) : TICKS;
    FILE *file = (count > 2) ? fopen(words[2], "wb") : NULL;
    REAL *const given = (REAL *)(void *)&input;
    const REAL *const made = (const REAL *)(const void *)&output;
    long tick;
    int k;
    NAMED(NAME, _init)(&state);
#ifdef TIMER
    TIMER_RELOAD = 0xFFFFFFFFu;
    TIMER_VALUE = 0xFFFFFFFFu;
    TIMER_CONTROL = 1u;
#endif
    for (tick = 0; tick < ticks; ++tick) {
        for (k = 0; k < INPUTS; ++k) {
            const long at = (tick * waves[k].step + waves[k].phase) % 16384;
            const long w = (at < 8192) ? at - 4096 : 12288 - at;
            const REAL part = (REAL)w / (REAL)4096;
            const REAL swing = waves[k].size * part;
            given[k] = waves[k].start + swing;
        }
#ifdef TIMER
        {
            const uint32_t before = TIMER_VALUE;
            NAMED(NAME, _step)(&state, &input, &output);
            spent += (double)(uint32_t)(before - TIMER_VALUE);
        }
#else
        NAMED(NAME, _step)(&state, &input, &output);
#endif
        mixed(made, OUTPUTS);
        if (file != NULL) {
            (void)fwrite(made, sizeof made[0], OUTPUTS, file);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)printf("ticks %ld digest %08lx%08lx\n", ticks, (unsigned long)(digest >> 32), (unsigned long)(digest & 0xFFFFFFFFu));
#ifdef TIMER
    (void)printf("instructions a tick %.0f\n", spent * 40.0 / (double)ticks); /* 25 MHz, an instruction a nanosecond */
#endif
    return 0;
}
