/*
 * unhandled.c: an exception that no code of a fiber has handled (context_x86_64_win.S).
 */
#include <windows.h>

EXCEPTION_DISPOSITION th_context_unhandled(EXCEPTION_RECORD *record, void *frame, CONTEXT *context,
                                           void *dispatcher);

/* At the bottom of a context's stack, acts as the system does for a thread's. */
EXCEPTION_DISPOSITION th_context_unhandled(EXCEPTION_RECORD *record, void *frame, CONTEXT *context,
                                           void *dispatcher) {
    EXCEPTION_POINTERS both = {record, context};
    (void)frame, (void)dispatcher;
    if (record->ExceptionFlags & (EXCEPTION_UNWINDING | EXCEPTION_EXIT_UNWIND)) {
        return ExceptionContinueSearch;
    }
    switch (UnhandledExceptionFilter(&both)) {
    case EXCEPTION_CONTINUE_EXECUTION:
        return ExceptionContinueExecution;
    case EXCEPTION_EXECUTE_HANDLER:
        TerminateProcess(GetCurrentProcess(), record->ExceptionCode);
        break;
    default:
        break;
    }
    return ExceptionContinueSearch;
}
