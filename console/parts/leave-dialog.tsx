// The dialog that asks before a secret or edits are lost.

import { Group, Stack, Text } from '@mantine/core';
import { Modal } from './later.tsx';
import { ActionButton } from './link.tsx';

const texts = {
  secret: {
    title: 'Leave without copying the secret?',
    text: 'It is not shown again. You will have to create a new one.',
  },
  edits: { title: 'Discard unsaved changes?', text: 'Your changes on this page are not saved.' },
};

interface LeaveDialogProps {
  what: keyof typeof texts;
  onStay: () => void;
  onLeave: () => void;
}

export function LeaveDialog({ what, onStay, onLeave }: LeaveDialogProps) {
  const { title, text } = texts[what];
  return (
    <Modal
      opened
      onClose={onStay}
      title={title}
      zIndex={300} // above a dialog with the secret or the form
    >
      <Stack>
        <Text size="sm">{text}</Text>
        <Group justify="flex-end">
          <ActionButton label="Leave" color="red" variant="light" onClick={onLeave} />
          <ActionButton label="Stay" isPrimary onClick={onStay} data-autofocus />
        </Group>
      </Stack>
    </Modal>
  );
}
