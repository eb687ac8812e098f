// A card for each incident: since when, whom it affects, what the provider said, and what to do.

import { Badge, Box, Card, Group, Stack, Text } from '@mantine/core';
import type { IncidentShape } from '../../../src/admin-api/shapes.ts';
import { countOf, formatCount } from '../../figures.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { withMoney } from '../../money.ts';
import { CopyButton } from '../../parts/code-block.tsx';
import { pathOf, TextLink } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { customerNotice, incidentLink, incidentReach, incidentTitle } from './incident-words.ts';

export function IncidentCard({ incident }: { incident: IncidentShape }) {
  const isHolder = !seesInstallation(useMe());
  const isCritical = incident.severity === 'critical';
  const reach = incidentReach(incident);
  return (
    <Card
      component="article"
      aria-label={incidentTitle(incident, isHolder)}
      withBorder
      p="sm"
      style={{ borderInlineStart: `3px solid var(--mantine-color-${isCritical ? 'red' : 'yellow'}-6)` }}
    >
      <Stack gap={6}>
        <Group gap="xs" align="flex-start" wrap="nowrap">
          <Badge color={isCritical ? 'red' : 'yellow'} mt={1} style={{ flexShrink: 0 }}>
            {isCritical ? 'Critical' : 'Warning'}
          </Badge>
          <Box miw={0}>
            <Text size="sm" fw={600} className="wrap">
              {incidentTitle(incident, isHolder)}
            </Text>
            <Hint size="xs" component="div" className="wrap">
              {'Since '}
              <When at={incident.since} />
              {reach.map((part) => ` · ${part}`).join('')}
            </Hint>
          </Box>
        </Group>
        {incident.message !== null && (
          <Text size="xs" className="wrap" component="blockquote" m={0} c="dimmed">
            {`“${withMoney(incident.message)}”`}
          </Text>
        )}
        {incident.most_affected.length > 0 && <Affected incident={incident} />}
        <Actions incident={incident} isHolder={isHolder} />
      </Stack>
    </Card>
  );
}

function Affected({ incident: { most_affected: affected, accounts } }: { incident: IncidentShape }) {
  const more = (accounts ?? affected.length) - affected.length;
  return (
    <Group gap={8} component="ul" m={0} p={0} style={{ listStyle: 'none' }} aria-label="Most affected accounts">
      {affected.map(({ account, account_name: name, requests }) => (
        <Text key={account} size="xs" component="li">
          <TextLink to={pathOf.account(account)} size="xs">
            {name ?? account}
          </TextLink>
          {` ${countOf(requests, 'request')}`}
        </Text>
      ))}
      {more > 0 && (
        <Text size="xs" c="dimmed" component="li">
          {`and ${formatCount(more)} more`}
        </Text>
      )}
    </Group>
  );
}

function Actions({ incident, isHolder }: { incident: IncidentShape; isHolder: boolean }) {
  const links = incident.actions.flatMap((action) => incidentLink(action, incident, isHolder) ?? []);
  return (
    <Group gap="md" style={{ rowGap: 4 }}>
      {links.map(({ label, ...place }) => (
        <Text key={label} size="sm">
          <TextLink {...place}>{label}</TextLink>
        </Text>
      ))}
      {incident.actions.includes('tell_customers') && (
        <CopyButton text={customerNotice(incident)} label="Copy notice for customers" />
      )}
    </Group>
  );
}
