// The health of a route in the last 24 hours: a badge, and its figures.

import { Group, Stack } from '@mantine/core';
import type { RouteHealthShape } from '../../src/admin-api/shapes.ts';
import { formatCount, formatMs, formatShare } from '../figures.ts';
import { seesInstallation, useMe } from '../me.tsx';
import { useGet } from '../queries.ts';
import { HealthBadge } from './badges.tsx';
import { Hint } from './page.tsx';

const EVERY_MS = 15_000;

interface Route {
  model: string;
  provider: string;
  upstream_model: string;
}

/** Finds the health of a route; undefined until it is known, and for those who may not see routes. */
export function useRouteHealth(of: { model?: string; provider?: string } = {}) {
  const { data } = useGet('/routes/health', { query: of, everyMs: EVERY_MS, isEnabled: seesInstallation(useMe()) });
  const routes = data?.data ?? [];
  const find = ({ model, provider, upstream_model: upstream }: Route) =>
    routes.find((one) => one.model === model && one.provider === provider && one.upstream_model === upstream);
  return { routes, find };
}

export function RouteBadge({ health }: { health: RouteHealthShape | undefined }) {
  if (health === undefined) return null;
  return <HealthBadge state={health.state} />;
}

/** The badge with success rate, times and faults. */
export function RouteHealth({ health }: { health: RouteHealthShape | undefined }) {
  if (health === undefined) return null;
  const { attempts, success_rate: rate, p50_ms: p50, p95_ms: p95, faults } = health;
  return (
    <Stack gap={2}>
      <Group gap={6}>
        <RouteBadge health={health} />
        {rate !== null && <Hint size="xs">{`${formatShare(rate)} of ${formatCount(attempts)}`}</Hint>}
      </Group>
      {p50 !== null && p95 !== null && <Hint size="xs">{`p50 ${formatMs(p50)} · p95 ${formatMs(p95)}`}</Hint>}
      {faults.length > 0 && <Hint size="xs">{faultWords(faults)}</Hint>}
    </Stack>
  );
}

/** "3 overloaded, 1 timeout". */
export function faultWords(faults: RouteHealthShape['faults']): string {
  return faults.map(({ fault, count }) => `${formatCount(count)} ${fault.replaceAll('_', ' ')}`).join(', ');
}
