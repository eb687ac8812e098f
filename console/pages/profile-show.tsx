// One's own sign-in: who one is here, password, second factor, sessions.

import { Alert, Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { PersonShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { fieldFaults } from '../form-faults.ts';
import { useMe } from '../me.tsx';
import { Facts } from '../parts/facts.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Section } from '../parts/section.tsx';
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
          <Section title={profile.tokens} text={profile.tokensText}>
            <Anchor component={Link} to="/tokens" size="sm">
              {profile.tokensLink}
            </Anchor>
          </Section>
        )}
      </Stack>
    </>
  );
}

function Who() {
  const me = useMe();
  const mayRename = me.kind === 'person' && (me.role === 'operator' || me.role === 'owner');
  return (
    <Section title={profile.you}>
      <Facts
        facts={[
          me.email === null ? null : { name: profile.email, value: me.email },
          mayRename || !me.name ? null : { name: profile.name, value: me.name },
          { name: profile.role, value: `${words.roles[me.role]} – ${words.roleTexts[me.role]}` },
          { name: profile.account, value: me.account?.name ?? profile.installation },
        ]}
      />
      {mayRename && <NameForm id={me.id} name={me.name ?? ''} />}
      {me.kind === 'person' && !mayRename && (
        <Text size="xs" c="dimmed">
          {profile.nameByOthers}
        </Text>
      )}
    </Section>
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
