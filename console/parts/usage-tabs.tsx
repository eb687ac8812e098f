// Links between the lists of accepted and of rejected requests. The account, the key and the time range are kept.

import { Group } from '@mantine/core';
import { useFilters } from '../filters.ts';
import { ButtonLink } from './link.tsx';

const KEPT = ['account', 'key'] as const;

export function UsageTabs({ current }: { current: 'accepted' | 'rejected' }) {
  const { values } = useFilters();
  const kept = KEPT.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]));
  const search = Object.fromEntries(kept) as Record<string, string>;
  const link = (name: 'accepted' | 'rejected', label: string, to: string) => (
    <ButtonLink
      label={label}
      to={to}
      search={search}
      size="compact-sm"
      variant={name === current ? 'light' : 'subtle'}
      {...(name === current && { 'aria-current': 'page' as const })}
    />
  );
  return (
    <Group component="nav" aria-label="Requests by result" gap="xs" mb="md" className="no-print">
      {link('accepted', 'Accepted', '/usage')}
      {link('rejected', 'Rejected', '/rejected')}
    </Group>
  );
}
