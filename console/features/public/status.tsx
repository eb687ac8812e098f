// Which models fail or failed, for people who are not signed in.

import { Alert, Badge, Group, Stack, Text } from '@mantine/core';
import type { PublicIncidentShape } from '../../../src/admin-api/shapes.ts';
import { countOf } from '../../figures.ts';
import { Icon } from '../../parts/link.tsx';
import { Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';

const EVERY_MS = 60_000;

export function PublicStatus() {
  const { data, error, refetch } = useGet('/public/status', { everyMs: EVERY_MS });
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const open = data.data.filter(({ ended_at }) => ended_at === null);
  const ended = data.data.filter(({ ended_at }) => ended_at !== null);
  return (
    <>
      <PageHead title="Status" />
      <Stack>
        {open.length === 0 ? (
          <Alert color="teal" title="All models are working" icon={<Icon name="check" />} />
        ) : (
          <Alert color="red" title={`${countOf(open.length, 'model')} failing`} icon={<Icon name="warning" />}>
            Many requests fail at this time.
          </Alert>
        )}
        {open.length > 0 && <Incidents title="Open incidents" incidents={open} />}
        <Incidents title="Last 90 days" incidents={ended} />
      </Stack>
    </>
  );
}

function Incidents({ title, incidents }: { title: string; incidents: readonly PublicIncidentShape[] }) {
  return (
    <Section title={title}>
      {incidents.length === 0 && <Hint>No incidents.</Hint>}
      {incidents.map((incident) => (
        <Incident key={`${incident.model} ${incident.began_at}`} incident={incident} />
      ))}
    </Section>
  );
}

function Incident({ incident: { model, display_name, began_at, ended_at } }: { incident: PublicIncidentShape }) {
  return (
    <Group
      justify="space-between"
      align="flex-start"
      gap="xs"
      pt="xs"
      style={{ borderTop: '1px solid var(--mantine-color-default-border)' }}
    >
      <Stack gap={2} miw={0} flex="1 1 220px">
        <Text size="sm" fw={600} className="wrap">
          {display_name}
        </Text>
        {display_name !== model && (
          <Hint size="xs" className="wrap">
            {model}
          </Hint>
        )}
        <Hint size="xs">
          {ended_at === null ? 'Since ' : 'From '}
          <When at={began_at} />
          {ended_at !== null && ' to '}
          {ended_at !== null && <When at={ended_at} />}
        </Hint>
      </Stack>
      <Badge color={ended_at === null ? 'red' : 'teal'}>{ended_at === null ? 'Failing' : 'Resolved'}</Badge>
    </Group>
  );
}
