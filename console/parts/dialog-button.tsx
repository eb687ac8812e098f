// Buttons that open a dialog: with any content, or with a confirmation of an irreversible action. And the buttons that
// end a form.

import { Button, type ButtonProps, Group, type ModalProps, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { fieldFaults } from '../form-faults.ts';
import { leave, leaveSecret } from '../unsaved.ts';
import { Modal } from './later.tsx';
import { ActionButton, ButtonLink } from './link.tsx';
import { FailureNotice } from './page.tsx';

interface DialogButtonProps extends Omit<ButtonProps, 'children'> {
  label: string;
  title: string;
  dialogSize?: NonNullable<ModalProps['size']>;
  /** Renders the content of the dialog. */
  children: (close: () => void) => ReactNode;
}

export function DialogButton({ label, title, dialogSize = 'md', children, ...button }: DialogButtonProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const close = () => leaveSecret(dialog.close); // cancelling a form discards its edits
  return (
    <>
      <ActionButton label={label} {...button} onClick={dialog.open} />
      <Modal opened={isOpen} onClose={() => leave(dialog.close)} title={title} size={dialogSize}>
        {children(close)}
      </Modal>
    </>
  );
}

interface ConfirmButtonProps<Input> extends Omit<ButtonProps, 'children'> {
  label: string;
  title: string;
  text: ReactNode;
  /** The dialog closes when it succeeds, and shows the failure otherwise. */
  change: { mutateAsync: (input: Input) => Promise<unknown>; isPending: boolean; error: unknown };
  input: Input;
}

export function ConfirmButton<Input>(props: ConfirmButtonProps<Input>) {
  const { label, title, text, change, input, ...button } = props;
  return (
    <DialogButton label={label} title={title} {...button}>
      {(close) => (
        <Stack>
          <Text size="sm" component="div">
            {text}
          </Text>
          <FailureNotice failure={change.error} />
          <Group justify="flex-end">
            <ActionButton label="Cancel" onClick={close} />
            <Button
              color={button.color ?? 'red'}
              onClick={() => void change.mutateAsync(input).then(close, () => {})} // the dialog shows the failure
              loading={change.isPending}
              data-autofocus
            >
              {label}
            </Button>
          </Group>
        </Stack>
      )}
    </DialogButton>
  );
}

interface FormFailureProps {
  failure: Error | null;
  fields: readonly string[];
}

/** The failure of a form, unless its fields show it. */
export function FormFailure({ failure, fields }: FormFailureProps) {
  return fieldFaults(failure, fields) === null && <FailureNotice failure={failure} />;
}

interface FormActionsProps {
  label: string;
  isPending: boolean;
  isDisabled?: boolean;
  onCancel?: () => void;
  /** The page that cancelling leads to. */
  cancelTo?: string;
  color?: string;
}

/** Submits the form that contains it. */
export function FormActions({ label, isPending, isDisabled = false, onCancel, cancelTo, color }: FormActionsProps) {
  return (
    <Group justify="flex-end">
      {onCancel !== undefined && <ActionButton label="Cancel" onClick={onCancel} />}
      {cancelTo !== undefined && <ButtonLink label="Cancel" variant="default" to={cancelTo} />}
      <Button type="submit" loading={isPending} disabled={isDisabled} {...(color !== undefined && { color })}>
        {label}
      </Button>
    </Group>
  );
}
