// The second factor of one's own sign-in: set up, turned off, and its backup codes made anew.

import { Badge, Button, Group, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import type { SignInShape } from '../../src/admin-api/shapes.ts';
import { askSignIn } from '../api.ts';
import { BackupCodes } from '../parts/backup-codes.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { PasswordPrompt } from '../parts/password-prompt.tsx';
import { Section } from '../parts/section.tsx';
import { useAsk, useChange } from '../queries.ts';
import { useSession } from '../session.ts';
import { words } from '../words.ts';
import { SecondFactorSetUp } from './profile-second-set-up.tsx';

const { profile } = words;

type Dialogue = 'set-up' | 'turn-off' | 'new-codes' | null;

export function ProfileSecondFactor() {
  const session = useSession();
  const ways = useAsk<SignInShape>('/sign-in');
  const [dialogue, setDialogue] = useState<Dialogue>(null);
  const isOn = session.data?.user.twoFactorEnabled === true;
  const close = () => setDialogue(null);
  return (
    <Section
      title={profile.second}
      text={profile.secondText}
      aside={session.data && <Actions isOn={isOn} open={setDialogue} />}
    >
      {ways.data?.oidc && !isOn && (
        <Text size="xs" c="dimmed">
          {profile.secondSingle}
        </Text>
      )}
      <FailureNotice failure={session.error} onRetry={() => void session.refetch()} />
      <Dialogued title={profile.secondSetUpTitle} isOpen={dialogue === 'set-up'} onClose={close}>
        <SecondFactorSetUp onDone={close} />
      </Dialogued>
      <Dialogued title={profile.secondTurnOffTitle} isOpen={dialogue === 'turn-off'} onClose={close}>
        <TurnOff onDone={close} />
      </Dialogued>
      <Dialogued title={profile.secondNewCodes} isOpen={dialogue === 'new-codes'} onClose={close}>
        <NewCodes onDone={close} />
      </Dialogued>
    </Section>
  );
}

function Actions({ isOn, open }: { isOn: boolean; open: (dialogue: Dialogue) => void }) {
  return (
    <Group gap="xs">
      <Badge variant="light" color={isOn ? 'teal' : 'gray'} tt="none" size="lg">
        {isOn ? profile.secondOn : profile.secondOff}
      </Badge>
      {!isOn && <Button onClick={() => open('set-up')}>{profile.secondSetUp}</Button>}
      {isOn && (
        <>
          <Button variant="default" onClick={() => open('new-codes')}>
            {profile.secondNewCodes}
          </Button>
          <Button variant="default" onClick={() => open('turn-off')}>
            {profile.secondTurnOff}
          </Button>
        </>
      )}
    </Group>
  );
}

interface DialoguedProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: React.ReactNode;
}

/** Not closed by a click beside it: what is shown there is shown once. */
function Dialogued({ title, isOpen, onClose, children }: DialoguedProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={title}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': words.parts.close }}
    >
      {children}
    </Modal>
  );
}

function TurnOff({ onDone }: { onDone: () => void }) {
  const turning = useChange((password: string) => askSignIn<unknown>('/two-factor/disable', { body: { password } }), {
    done: profile.secondIsOff,
    onDone,
  });
  return (
    <PasswordPrompt
      text={profile.secondTurnOffText}
      submit={profile.secondTurnOff}
      color="red"
      onSubmit={turning.mutate}
      isPending={turning.isPending}
      failure={turning.error}
    />
  );
}

function NewCodes({ onDone }: { onDone: () => void }) {
  const making = useChange((password: string) =>
    askSignIn<{ backupCodes: string[] }>('/two-factor/generate-backup-codes', { body: { password } }),
  );
  if (making.data !== undefined) return <BackupCodes codes={making.data.backupCodes} onKept={onDone} />;
  return (
    <PasswordPrompt
      text={profile.secondNewCodesText}
      submit={profile.continue}
      onSubmit={making.mutate}
      isPending={making.isPending}
      failure={making.error}
    />
  );
}
