// The list under "Needs attention": incidents, then problems that are near, each with a link to the page that fixes it.

import { Badge, Box, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { AttentionShape } from '../../../src/admin-api/shapes.ts';
import { formatShare } from '../../figures.ts';
import { type Role, useMe } from '../../me.tsx';
import { formatMoney } from '../../money.ts';
import { ActionButton, pathOf, TextLink } from '../../parts/link.tsx';
import { FailureNotice, Section } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { durationText } from '../billing/pace.ts';
import { IncidentCard } from './incidents.tsx';

const SHOWN_MAX = 4;
const REFRESH_MS = 60_000;
const INCIDENTS_EVERY_MS = 15_000;

export function AttentionList() {
  const incidents = useGet('/incidents', { everyMs: INCIDENTS_EVERY_MS });
  const { data, error, refetch } = useGet('/attention', { everyMs: REFRESH_MS });
  const [showsAll, setShowsAll] = useState(false);
  const failure = error ?? incidents.error;
  if (data === undefined || incidents.data === undefined)
    return failure === null ? null : (
      <FailureNotice
        failure={failure}
        onRetry={() => {
          void refetch();
          void incidents.refetch();
        }}
      />
    );
  const rows = [
    ...incidents.data.data.map((incident) => ({ key: incident.id, show: <IncidentCard incident={incident} /> })),
    ...data.data.map((one) => ({ key: `${one.kind} ${one.account} ${one.key}`, show: <Row one={one} /> })),
  ];
  if (rows.length === 0) return null;
  const shown = showsAll ? rows : rows.slice(0, SHOWN_MAX);
  return (
    <Section title="Needs attention">
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {shown.map(({ key, show }) => (
          <Box component="li" key={key}>
            {show}
          </Box>
        ))}
      </Stack>
      {shown.length < rows.length && (
        <Group>
          <ActionButton
            label={`Show all ${rows.length}`}
            variant="subtle"
            size="xs"
            onClick={() => setShowsAll(true)}
          />
        </Group>
      )}
    </Section>
  );
}

function Row({ one }: { one: AttentionShape }) {
  const { role } = useMe();
  const { title, text, link } = attentionWords(one, role);
  const isCritical = one.severity === 'critical';
  return (
    <Group gap="xs" align="flex-start" justify="space-between">
      <Group gap="sm" wrap="nowrap" align="flex-start" miw={0} style={{ flex: '1 1 260px' }}>
        <Badge color={isCritical ? 'red' : 'yellow'} mt={1}>
          {isCritical ? 'Critical' : 'Warning'}
        </Badge>
        <Text size="sm" component="div" className="wrap">
          <Text span inherit fw={600}>
            {`${title}.`}
          </Text>{' '}
          <Text span inherit c="dimmed">
            {text}
          </Text>
        </Text>
      </Group>
      <Text size="sm">
        <TextLink to={link.to} {...(link.search !== undefined && { search: link.search })}>
          {link.label}
        </TextLink>
      </Text>
    </Group>
  );
}

interface AttentionWords {
  title: string;
  text: string;
  link: { to: string; search?: Record<string, string>; label: string };
}

function attentionWords(one: AttentionShape, role: Role): AttentionWords {
  const name = one.account_name ?? one.account ?? '';
  const money = (usd: string | null) => formatMoney(usd ?? '0');
  if (one.kind === 'balance_low') {
    const to = role === 'owner' ? '/billing' : `/accounts/${one.account}/billing`;
    return {
      title: `${name}: ${money(one.available)} available`,
      text: balanceText(one),
      link: { to, label: 'View billing' },
    };
  }
  if (one.kind === 'written_off')
    return {
      title: `${name}: ${money(one.written_off)} written off`,
      text: `The balance was insufficient for ${money(one.cost)} of usage.`,
      link: {
        to: '/usage',
        search: { ...(role !== 'owner' && one.account !== null && { account: one.account }), outcome: 'quota_cut' },
        label: 'View requests',
      },
    };
  if (one.kind === 'key_quota_low')
    return {
      title: `${one.key_name || (one.key ?? '')}: ${formatShare(one.share ?? 0)} of quota used`,
      text: `${money(one.quota_used)} of ${money(one.quota)} in account ${name}.`,
      link: { to: pathOf.key(one.key ?? ''), label: 'View API key' },
    };
  return {
    title: `${name} is disabled`,
    text: `Its recent usage was ${money(one.cost)}. Its keys are rejected.`,
    link: { to: pathOf.account(one.account ?? ''), label: 'View account' },
  };
}

function balanceText({ days_left, cost_per_day }: AttentionShape): string {
  if (days_left === null || days_left === 0) return 'New requests are rejected until you add credit.';
  return `Lasts about ${durationText(days_left)} at ${formatMoney(cost_per_day ?? '0')} per day.`;
}
