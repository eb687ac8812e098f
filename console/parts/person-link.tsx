// The one-time link of a person, shown once: to be copied by itself or as a mail.

import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import type { InvitedPersonShape } from '../../src/admin-api/shapes.ts';
import { useBaseUrl } from '../base-url.ts';
import { words } from '../words.ts';
import { CopyButton } from './copy-button.tsx';
import { Icon } from './icon.tsx';

const { people } = words;

export function PersonLink({ person, onDone }: { person: InvitedPersonShape; onDone: () => void }) {
  const link = `${useBaseUrl()}/console/invitation#${person.link_secret}`;
  const until = person.link_expires_at === null ? '' : new Date(person.link_expires_at).toLocaleString();
  const mail = people.mail(person.name, link, until);
  return (
    <Stack gap="md">
      <Alert
        color="yellow"
        variant="light"
        title={people.linkTitle}
        icon={<Icon name="warning" />}
        styles={{ title: { color: 'var(--mantine-color-text)' } }}
      >
        <Stack gap="xs" align="flex-start">
          <Text size="sm">
            {people.linkFor(person.email ?? words.roles[person.role])} {words.parts.secretOnce}
          </Text>
          <Code fz="sm" style={{ overflowWrap: 'anywhere' }} data-testid="link">
            {link}
          </Code>
          <CopyButton text={link} label={people.copyLink} />
        </Stack>
      </Alert>
      <Stack gap={4} align="flex-start">
        <Text size="sm" fw={600}>
          {people.mailLabel}
        </Text>
        <Code block w="100%" tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {mail}
        </Code>
        <CopyButton text={mail} label={people.copyMail} />
      </Stack>
      <Group justify="flex-end">
        <Button onClick={onDone}>{people.done}</Button>
      </Group>
    </Stack>
  );
}
