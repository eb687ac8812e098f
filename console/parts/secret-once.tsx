// A secret that is shown once, and dialogs that end with one.

import { Alert, Code, Group, type ModalProps, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Endpoints } from '../endpoints.ts';
import { type CreateOptions, useCreate } from '../queries.ts';
import { leave, leaveSecret, markSecretSaved, useShownSecret } from '../unsaved.ts';
import { CopyButton } from './code-block.tsx';
import { Modal } from './later.tsx';
import { Icon } from './link.tsx';

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
    <Modal opened={isOpen} onClose={() => leave(onClose)} title={title} size={size} closeOnClickOutside={false}>
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
