/* Start of a Cortex-M7 (MPS2 AN500): vectors, floating point unit, then the C library's start. */
#include <stdint.h>

extern uint32_t stack_top;
extern void _start(void);

static void reset(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: coprocessors 10 and 11 */
    __asm volatile("dsb\nisb");
    _start();
}

static void stuck(void)
{
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &stack_top, (void *)reset, (void *)stuck, (void *)stuck, (void *)stuck, (void *)stuck, (void *)stuck,
};
