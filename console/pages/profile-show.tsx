// One's own sign-in: who one is here, password, second factor, sessions.

import { Alert, Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { PersonShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { fieldFaults } from '../form-faults.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { SectionCard } from '../parts/section-card.tsx';
import { useChange } from '../queries.ts';
import { words } from '../words.ts';
import { ProfilePassword } from './profile-password.tsx';
import { ProfileSecondFactor } from './profile-second-factor.tsx';
import { ProfileSessions } from './profile-sessions.tsx';

const { profile } = words;

export function ProfileShow() {
  const { kind, role } = useMe();
  return (
    <>
      <PageHead title={profile.title} text={profile.text} />
      <Stack maw={820}>
        {kind !== 'person' && (
          <Alert variant="light" title={profile.tokenTitle} icon={<Icon name="ticket" />}>
            {kind === 'local' ? profile.localText : profile.tokenText}
          </Alert>
        )}
        <Who />
        {kind === 'person' && (
          <>
            <ProfilePassword />
            <ProfileSecondFactor />
            <ProfileSessions />
          </>
        )}
        {role !== 'member' && (
          <SectionCard title={profile.tokens} text={profile.tokensText}>
            <Anchor component={Link} to="/tokens" size="sm">
              {profile.tokensLink}
            </Anchor>
          </SectionCard>
        )}
      </Stack>
    </>
  );
}

function Who() {
  const me = useMe();
  const mayRename = me.kind === 'person' && (me.role === 'operator' || me.role === 'owner');
  return (
    <SectionCard title={profile.you}>
      <Group gap="xl" align="flex-start">
        {me.email !== null && <Fact label={profile.email} value={me.email} />}
        <Fact label={profile.role} value={`${words.roles[me.role]} – ${words.roleTexts[me.role]}`} />
        <Fact
          label={profile.account}
          value={me.account?.name ?? (isOfInstallation(me) ? profile.installation : words.parts.none)}
        />
        {!mayRename && me.name !== null && me.name !== '' && <Fact label={profile.name} value={me.name} />}
      </Group>
      {mayRename && <NameForm id={me.id} name={me.name ?? ''} />}
      {me.kind === 'person' && !mayRename && (
        <Text size="xs" c="dimmed">
          {profile.nameByOthers}
        </Text>
      )}
    </SectionCard>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <Stack gap={0} miw={0}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
    </Stack>
  );
}

function NameForm({ id, name: saved }: { id: string; name: string }) {
  const [name, setName] = useState(saved);
  const saving = useChange(() => ask<PersonShape>(`/people/${id}`, { method: 'PATCH', body: { name } }), {
    done: profile.nameSaved,
  });
  const faults = fieldFaults(saving.error, ['name']);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    saving.mutate(undefined);
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label={profile.name}
          description={profile.nameHint}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          autoComplete="name"
          error={faults?.['name']}
          maw={360}
          style={{ flex: '1 1 220px' }}
        />
        <Button type="submit" variant="default" loading={saving.isPending} disabled={name === saved || name === ''}>
          {words.parts.save}
        </Button>
      </Group>
      {faults === null && <FailureNotice failure={saving.error} />}
    </form>
  );
}
