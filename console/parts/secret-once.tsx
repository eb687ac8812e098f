// A secret that is shown once, and the warning before it is lost: by a link, the history, a reload, or a closed dialog.

import { Alert, Code, Group, Modal, type ModalProps, Stack, Text } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import type { Endpoints } from '../endpoints.ts';
import { type CreateOptions, useCreate } from '../queries.ts';
import { CopyButton } from './code-block.tsx';
import { ActionButton, Icon } from './link.tsx';

/** Whether the page shows a secret that was not copied. A page shows one at a time. */
let isUnsaved = false;
/** What was asked for meanwhile. */
let pending: (() => void) | null = null;
const listeners = new Set<() => void>();

function setPending(action: (() => void) | null): void {
  pending = action;
  for (const listener of listeners) listener();
}

/** Runs an action that removes a secret from the page, after a confirmation if the secret was not copied. */
export function leaveSecret(action: () => void): void {
  if (isUnsaved) setPending(action);
  else action();
}

/** Marks the secret on the page as copied or downloaded. */
export function markSecretSaved(): void {
  isUnsaved = false;
}

/** For parts that show a secret for the only time: the user is warned before it is lost. */
export function useShownSecret(): void {
  useEffect(() => {
    isUnsaved = true;
    return markSecretSaved;
  }, []);
}

export interface FormStep<Values> {
  onSubmit: (values: Values) => void;
  isPending: boolean;
  failure: Error | null;
}

interface StepsProps<Name extends keyof Endpoints, Values extends object> {
  /** The endpoint that creates something. */
  creates: Name;
  options?: CreateOptions<Values, Endpoints[Name]>;
  form: (step: FormStep<Values>) => ReactNode;
  result: (answer: Endpoints[Name], close: () => void) => ReactNode;
}

interface SecretStepsProps<Name extends keyof Endpoints, Values extends object> extends StepsProps<Name, Values> {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  size?: NonNullable<ModalProps['size']>;
}

/** A dialog with a form, and then its result, which may show a secret. Both are forgotten when it closes. */
export function SecretSteps<Name extends keyof Endpoints, Values extends object>({
  isOpen,
  onClose,
  title,
  size = 'lg',
  ...steps
}: SecretStepsProps<Name, Values>) {
  const close = () => leaveSecret(onClose);
  return (
    <Modal opened={isOpen} onClose={close} title={title} size={size} closeOnClickOutside={false}>
      <Steps {...steps} close={close} />
    </Modal>
  );
}

function Steps<Name extends keyof Endpoints, Values extends object>({
  creates,
  options,
  form,
  result,
  close,
}: StepsProps<Name, Values> & { close: () => void }) {
  const { mutate, isPending, error, data } = useCreate<Name, Values>(creates, options);
  return data === undefined ? form({ onSubmit: mutate, isPending, failure: error }) : result(data, close);
}

/** Stands once in the frame of the pages. */
export function SecretGuard() {
  const action = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => pending,
  );
  const blocker = useBlocker({
    // A change of the address's parameters stays on the page.
    shouldBlockFn: ({ current, next }) => isUnsaved && current.pathname !== next.pathname,
    enableBeforeUnload: () => isUnsaved,
    withResolver: true,
  });
  const stay = () => {
    setPending(null);
    blocker.reset?.();
  };
  const leave = () => {
    markSecretSaved();
    setPending(null);
    action?.();
    blocker.proceed?.();
  };
  return (
    <Modal
      opened={action !== null || blocker.status === 'blocked'}
      onClose={stay}
      title="Leave without copying the secret?"
      zIndex={300} // above a dialog that shows the secret
    >
      <Stack>
        <Text size="sm">It is not shown again. You will have to create a new one.</Text>
        <Group justify="flex-end">
          <ActionButton label="Leave" color="red" variant="light" onClick={leave} />
          <ActionButton label="Stay" isPrimary onClick={stay} data-autofocus />
        </Group>
      </Stack>
    </Modal>
  );
}

interface SecretOnceProps {
  secret: string;
  label: string;
  /** Replaces the sentence above the secret. */
  text?: ReactNode;
  copyLabel?: string;
  testId?: string;
}

export function SecretOnce({ secret, label, text, copyLabel = 'Copy', testId = 'secret' }: SecretOnceProps) {
  useShownSecret();
  const [isCopied, setCopied] = useState(false);
  const saved = () => {
    setCopied(true);
    markSecretSaved();
  };
  return (
    <Alert
      color="yellow"
      title={label}
      icon={<Icon name={isCopied ? 'check' : 'warning'} />}
      // The default color has too little contrast for text.
      styles={{ title: { color: 'var(--mantine-color-text)' }, icon: { color: 'var(--mantine-color-text)' } }}
    >
      <Stack gap="xs">
        <Text size="sm">
          {text} {'Copy it now. It is not shown again.'}
        </Text>
        <Group gap="xs" align="center">
          <Code fz="sm" className="wrap" data-testid={testId} onCopy={saved}>
            {secret}
          </Code>
          <CopyButton text={secret} label={copyLabel} onCopied={saved} />
        </Group>
      </Stack>
    </Alert>
  );
}
