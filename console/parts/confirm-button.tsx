// A button for what cannot be taken back: says what will happen, and asks once more.

import { Button, type ButtonProps, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';

interface ConfirmButtonProps extends ButtonProps {
  label: string;
  title: string;
  text: ReactNode;
  /** What the button that does it says; `label` where absent. */
  confirm?: string;
  /** The dialogue closes when it resolves, and shows why when it rejects. */
  onConfirm: () => Promise<unknown>;
  isPending: boolean;
  failure: unknown;
}

export function ConfirmButton(props: ConfirmButtonProps) {
  const { label, title, text, confirm = label, onConfirm, isPending, failure, ...button } = props;
  const [isOpen, dialogue] = useDisclosure(false);
  const act = () => {
    onConfirm().then(dialogue.close, () => {}); // the failure is shown in the dialogue
  };
  return (
    <>
      <Button variant="default" {...button} onClick={dialogue.open}>
        {label}
      </Button>
      <Modal
        opened={isOpen}
        onClose={dialogue.close}
        title={title}
        closeButtonProps={{ 'aria-label': words.parts.close }}
      >
        <Stack>
          <Text size="sm" component="div">
            {text}
          </Text>
          <FailureNotice failure={failure} />
          <Group justify="flex-end">
            <Button variant="default" onClick={dialogue.close}>
              {words.parts.cancel}
            </Button>
            <Button color={button.color ?? 'red'} onClick={act} loading={isPending} data-autofocus>
              {confirm}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
