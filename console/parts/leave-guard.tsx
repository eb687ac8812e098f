// The question before a secret or edits are lost: by a link, the history, a reload, or a closed dialog.

import { Group, Modal, Stack, Text } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { forgetUnsaved, setPending, usePending, whatIsUnsaved } from '../unsaved.ts';
import { ActionButton } from './link.tsx';

const texts = {
  secret: {
    title: 'Leave without copying the secret?',
    text: 'It is not shown again. You will have to create a new one.',
  },
  edits: { title: 'Discard unsaved changes?', text: 'Your changes on this page are not saved.' },
};

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
  const { title, text } = texts[whatIsUnsaved() ?? 'edits'];
  return (
    <Modal
      opened={action !== null || blocker.status === 'blocked'}
      onClose={stay}
      title={title}
      zIndex={300} // above a dialog with the secret or the form
    >
      <Stack>
        <Text size="sm">{text}</Text>
        <Group justify="flex-end">
          <ActionButton label="Leave" color="red" variant="light" onClick={leave} />
          <ActionButton label="Stay" isPrimary onClick={stay} data-autofocus />
        </Group>
      </Stack>
    </Modal>
  );
}
