// The question before a secret or edits are lost: by a link, the history, a reload, or a closed dialog.

import { useBlocker } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { forgetUnsaved, setPending, usePending, whatIsUnsaved } from '../unsaved.ts';

/** Loaded with the first question: pages without one need no dialogs. */
const LeaveDialog = lazy(async () => ({ default: (await import('./leave-dialog.tsx')).LeaveDialog }));

/** Stands once in the frame of the pages. */
export function LeaveGuard() {
  const action = usePending();
  const blocker = useBlocker({
    // A change of the address's parameters stays on the page.
    shouldBlockFn: ({ current, next }) => whatIsUnsaved() !== null && current.pathname !== next.pathname,
    enableBeforeUnload: () => whatIsUnsaved() !== null,
    withResolver: true,
  });
  const stay = () => {
    setPending(null);
    blocker.reset?.();
  };
  const leave = () => {
    forgetUnsaved();
    setPending(null);
    action?.();
    blocker.proceed?.();
  };
  const isOpen = action !== null || blocker.status === 'blocked';
  if (!isOpen) return null;
  return (
    <Suspense fallback={null}>
      <LeaveDialog what={whatIsUnsaved() ?? 'edits'} onStay={stay} onLeave={leave} />
    </Suspense>
  );
}
