// Sets up and turns off the second factor, and creates new backup codes.

import { Badge, Center, Code, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { encode } from 'uqr';
import { ApiFailure, callSignIn } from '../../api.ts';
import { CopyButton } from '../../parts/code-block.tsx';
import { saveFile } from '../../parts/csv-button.tsx';
import { FormActions } from '../../parts/dialog-button.tsx';
import { Modal } from '../../parts/later.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Hint, Section } from '../../parts/page.tsx';
import { useChange, useGet } from '../../queries.ts';
import { leaveSecret, markSecretSaved, useShownSecret } from '../../unsaved.ts';
import { PasswordField, SignInFailure } from '../sign-in/password.tsx';
import { useSession } from './sessions.tsx';

const replaceText =
  'The current app and its backup codes stop working. Until you confirm the new app, your password alone is enough.';
const secondFactorText = 'Require a code from an authenticator app in addition to your password.';

type Dialog = 'set-up' | 'replace' | 'turn-off' | 'new-codes' | null;

export function ProfileSecondFactor() {
  const session = useSession();
  const ways = useGet('/sign-in');
  const [dialog, setDialog] = useState<Dialog>(null);
  const isOn = session.data?.user.twoFactorEnabled === true;
  const close = () => leaveSecret(() => setDialog(null));
  return (
    <Section
      title="Second factor"
      text={secondFactorText}
      aside={session.data && <Actions isOn={isOn} open={setDialog} />}
    >
      {ways.data?.oidc && !isOn && (
        <Hint size="xs">If you sign in with single sign-on, set up the second factor at that provider.</Hint>
      )}
      <FailureNotice failure={session.error} onRetry={() => void session.refetch()} />
      <FormDialog title="Set up second factor" isOpen={dialog === 'set-up'} onClose={close}>
        <SecondFactorSetUp onDone={close} />
      </FormDialog>
      <FormDialog title="Replace second factor" isOpen={dialog === 'replace'} onClose={close}>
        <SecondFactorSetUp onDone={close} isReplaced />
      </FormDialog>
      <FormDialog title="Turn off second factor?" isOpen={dialog === 'turn-off'} onClose={close}>
        <TurnOff onDone={close} />
      </FormDialog>
      <FormDialog title="New backup codes" isOpen={dialog === 'new-codes'} onClose={close}>
        <NewCodes onDone={close} />
      </FormDialog>
    </Section>
  );
}

function Actions({ isOn, open }: { isOn: boolean; open: (dialog: Dialog) => void }) {
  return (
    <Group gap="xs">
      <Badge color={isOn ? 'teal' : 'gray'} size="lg">
        {isOn ? 'On' : 'Off'}
      </Badge>
      {!isOn && <ActionButton label="Set up" isPrimary onClick={() => open('set-up')} />}
      {isOn && (
        <>
          <ActionButton label="Replace" onClick={() => open('replace')} />
          <ActionButton label="New backup codes" onClick={() => open('new-codes')} />
          <ActionButton label="Turn off" onClick={() => open('turn-off')} />
        </>
      )}
    </Group>
  );
}

interface FormDialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: React.ReactNode;
}

function withoutSpaces(code: string): string {
  return code.replace(/\s/g, '');
}

/** A click outside does not close the dialog, because its content is shown only once. */
function FormDialog({ title, isOpen, onClose, children }: FormDialogProps) {
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} closeOnClickOutside={false}>
      {children}
    </Modal>
  );
}

function TurnOff({ onDone }: { onDone: () => void }) {
  const disabling = useChange(
    ({ password }: Proofs) => callSignIn('POST /two-factor/disable', { body: { password } }),
    {
      done: 'Second factor turned off.',
      onDone,
    },
  );
  return (
    <PasswordPrompt
      text="Your password alone will be enough to sign in. Your backup codes stop working."
      submit="Turn off"
      color="red"
      onSubmit={disabling.mutate}
      isPending={disabling.isPending}
      failure={disabling.error}
    />
  );
}

function NewCodes({ onDone }: { onDone: () => void }) {
  const creating = useChange(({ password }: Proofs) =>
    callSignIn('POST /two-factor/generate-backup-codes', { body: { password } }),
  );
  if (creating.data !== undefined) return <BackupCodes codes={creating.data.backupCodes} onKept={onDone} />;
  return (
    <PasswordPrompt
      text="Your existing backup codes stop working. The new codes are shown once."
      submit="Continue"
      onSubmit={creating.mutate}
      isPending={creating.isPending}
      failure={creating.error}
    />
  );
}

interface SetUpProps {
  onDone: () => void;
  /** There is a second factor, such as the app of a former phone. */
  isReplaced?: boolean;
  /** The page says what a second factor is. */
  isExplained?: boolean;
}

export function SecondFactorSetUp({ onDone, isReplaced = false, isExplained = false }: SetUpProps) {
  const [isConfirmed, setConfirmed] = useState(false);
  const enabling = useMutation({
    mutationFn: ({ password, code }: Proofs) =>
      isReplaced
        ? callSignIn('POST /two-factor/replace', { body: { password, code: withoutSpaces(code) } })
        : callSignIn('POST /two-factor/enable', { body: { password } }),
  });
  const enabled = enabling.data;
  if (enabled === undefined)
    return (
      <PasswordPrompt
        text={isReplaced ? replaceText : isExplained ? null : secondFactorText}
        asksCode={isReplaced}
        submit="Continue"
        onSubmit={enabling.mutate}
        isPending={enabling.isPending}
        failure={enabling.error}
      />
    );
  if (isConfirmed) return <BackupCodes codes={enabled.backupCodes} onKept={onDone} />;
  return <Confirmation uri={enabled.totpURI} onConfirmed={() => setConfirmed(true)} />;
}

function Confirmation({ uri, onConfirmed }: { uri: string; onConfirmed: () => void }) {
  const [code, setCode] = useState('');
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  const confirming = useChange(
    () => callSignIn('POST /two-factor/verify-totp', { body: { code: withoutSpaces(code) } }),
    { done: 'Second factor turned on.', onDone: onConfirmed },
  );
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    confirming.mutate(undefined);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text size="sm">Scan this code with your authenticator app, or enter the secret manually.</Text>
        <Center>
          <QrCode text={uri} label="QR code of the secret below" />
        </Center>
        <Stack gap={4}>
          <Hint size="xs">Secret</Hint>
          <Group gap="xs">
            <Code className="wrap" data-testid="totp-secret">
              {secret}
            </Code>
            <CopyButton text={secret} />
          </Group>
        </Stack>
        <TextInput
          label="Six-digit code"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          name="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          data-autofocus
        />
        <SignInFailure failure={confirming.error} />
        <FormActions label="Turn on" isPending={confirming.isPending} />
      </Stack>
    </form>
  );
}

function BackupCodes({ codes, onKept }: { codes: readonly string[]; onKept: () => void }) {
  const text = `${codes.join('\n')}\n`;
  useShownSecret();
  const save = () => {
    saveFile('turnpike-backup-codes.txt', [text], 'text/plain');
    markSecretSaved();
  };
  const keep = () => {
    markSecretSaved();
    onKept();
  };
  return (
    <Stack gap="sm">
      <Text size="sm">Each code signs you in once without your app. Store them safely: they are shown only now.</Text>
      <SimpleGrid cols={2} spacing="xs" role="list" aria-label="Backup codes">
        {codes.map((code) => (
          <Code key={code} role="listitem" ta="center" fz="sm">
            {code}
          </Code>
        ))}
      </SimpleGrid>
      <Group justify="space-between">
        <Group gap="xs">
          <CopyButton text={text} onCopied={markSecretSaved} />
          <ActionButton label="Download" size="xs" icon="download" onClick={save} />
        </Group>
        <ActionButton label="I have saved them" isPrimary onClick={keep} />
      </Group>
    </Stack>
  );
}

interface Proofs {
  password: string;
  /** Empty unless it is asked for. */
  code: string;
}

interface PasswordPromptProps {
  text: string | null;
  asksCode?: boolean;
  submit: string;
  /** The color of the button; by default the accent color. */
  color?: string;
  onSubmit: (proofs: Proofs) => void;
  isPending: boolean;
  failure: unknown;
}

function PasswordPrompt({ text, asksCode = false, submit, color, onSubmit, isPending, failure }: PasswordPromptProps) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const reason = failure instanceof ApiFailure ? failure.reason : null;
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    onSubmit({ password, code });
  };
  return (
    <form onSubmit={send}>
      <Stack gap="sm">
        {text !== null && <Text size="sm">{text}</Text>}
        <PasswordField
          label="Your password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={reason === 'INVALID_PASSWORD' ? 'Wrong password.' : undefined}
          data-autofocus
        />
        {asksCode && (
          <TextInput
            label="Code from the current app, or a backup code"
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            name="code"
            autoComplete="one-time-code"
            autoCapitalize="none"
            spellCheck={false}
            required
          />
        )}
        {reason !== 'INVALID_PASSWORD' && <SignInFailure failure={failure} />}
        <FormActions label={submit} isPending={isPending} {...(color !== undefined && { color })} />
      </Stack>
    </form>
  );
}

const BORDER_MODULES = 4;

function QrCode({ text, label, sizePx = 200 }: { text: string; label: string; sizePx?: number }) {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER_MODULES });
  const dark = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      width={sizePx}
      height={sizePx}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={dark} fill="#000" />
    </svg>
  );
}
