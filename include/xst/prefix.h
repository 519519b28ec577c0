/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that needs the engine in two worlds compiles switch.c, events.c and bringup.c once per
 * world, each time with -DXST_PREFIX=something_: the functions then have that prefix instead of xst_.
 * Callers of that copy are compiled with the same define.
 */
#ifndef XST_PREFIX_H
#define XST_PREFIX_H

#ifdef XST_PREFIX
#define XST_PASTE2(a, b)          a##b
#define XST_PASTE(a, b)           XST_PASTE2(a, b)
#define xst_system_init           XST_PASTE(XST_PREFIX, system_init)
#define xst_cpu_init              XST_PASTE(XST_PREFIX, cpu_init)
#define xst_cpu_online            XST_PASTE(XST_PREFIX, cpu_online)
#define xst_cpu_offline           XST_PASTE(XST_PREFIX, cpu_offline)
#define xst_ctx_init              XST_PASTE(XST_PREFIX, ctx_init)
#define xst_ctx_attach            XST_PASTE(XST_PREFIX, ctx_attach)
#define xst_ctx_grow              XST_PASTE(XST_PREFIX, ctx_grow)
#define xst_cpu_idle              XST_PASTE(XST_PREFIX, cpu_idle)
#define xst_ctx_migrate           XST_PASTE(XST_PREFIX, ctx_migrate)
#define xst_cpu_evict             XST_PASTE(XST_PREFIX, cpu_evict)
#define xst_switch                XST_PASTE(XST_PREFIX, switch)
#define xst_return_to_user        XST_PASTE(XST_PREFIX, return_to_user)
#define xst_device_not_available  XST_PASTE(XST_PREFIX, device_not_available)
#define xst_ctx_flush             XST_PASTE(XST_PREFIX, ctx_flush)
#define xst_ctx_changed           XST_PASTE(XST_PREFIX, ctx_changed)
#define xst_ctx_check             XST_PASTE(XST_PREFIX, ctx_check)
#define xst_ctx_fork              XST_PASTE(XST_PREFIX, ctx_fork)
#define xst_ctx_exec              XST_PASTE(XST_PREFIX, ctx_exec)
#define xst_ctx_exit              XST_PASTE(XST_PREFIX, ctx_exit)
#define xst_validate              XST_PASTE(XST_PREFIX, validate)
#define xst_cpu_set_policy        XST_PASTE(XST_PREFIX, cpu_set_policy)
#define xst_kernel_begin_any      XST_PASTE(XST_PREFIX, kernel_begin_any)
#define xst_kernel_end_any        XST_PASTE(XST_PREFIX, kernel_end_any)
#define xst_kernel_load_initial   XST_PASTE(XST_PREFIX, kernel_load_initial)
#define xst_kernel_x87_ready      XST_PASTE(XST_PREFIX, kernel_x87_ready)
#define xst_kernel_give_tiles     XST_PASTE(XST_PREFIX, kernel_give_tiles)
#define xst_section_init          XST_PASTE(XST_PREFIX, section_init)
#define xst_section_begin_any     XST_PASTE(XST_PREFIX, section_begin_any)
#define xst_section_resume        XST_PASTE(XST_PREFIX, section_resume)
#define xst_section_end_any       XST_PASTE(XST_PREFIX, section_end_any)

#define xst_guest_init                 XST_PASTE(XST_PREFIX, guest_init)
#define xst_guest_destroy              XST_PASTE(XST_PREFIX, guest_destroy)
#define xst_guest_set_direct           XST_PASTE(XST_PREFIX, guest_set_direct)
#define xst_guest_load                 XST_PASTE(XST_PREFIX, guest_load)
#define xst_guest_put                  XST_PASTE(XST_PREFIX, guest_put)
#define xst_guest_enter                XST_PASTE(XST_PREFIX, guest_enter)
#define xst_guest_exit                 XST_PASTE(XST_PREFIX, guest_exit)
#define xst_guest_set_xcr0             XST_PASTE(XST_PREFIX, guest_set_xcr0)
#define xst_guest_set_xss              XST_PASTE(XST_PREFIX, guest_set_xss)
#define xst_guest_set_xfd              XST_PASTE(XST_PREFIX, guest_set_xfd)
#define xst_guest_set_xfd_err          XST_PASTE(XST_PREFIX, guest_set_xfd_err)
#define xst_guest_device_not_available XST_PASTE(XST_PREFIX, guest_device_not_available)
#define xst_guest_get_cet              XST_PASTE(XST_PREFIX, guest_get_cet)
#define xst_guest_set_cet              XST_PASTE(XST_PREFIX, guest_set_cet)
#define xst_guest_reset                XST_PASTE(XST_PREFIX, guest_reset)
#define xst_guest_copy_bytes           XST_PASTE(XST_PREFIX, guest_copy_bytes)
#define xst_guest_copy_out             XST_PASTE(XST_PREFIX, guest_copy_out)
#define xst_guest_copy_in              XST_PASTE(XST_PREFIX, guest_copy_in)
#endif

#endif
