// Told above every page while the service does not answer: what is shown may be old. When it answers again everything is asked anew.

import { Alert } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ApiFailure, isServiceThere } from '../api.ts';
import { words } from '../words.ts';
import { Icon } from './icon.tsx';

const LOOK_MS = 3_000;

export function AwayNotice() {
  const isAway = useIsAway();
  if (!isAway) return null;
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="warning" />} mb="md" role="status">
      {words.shell.away}
    </Alert>
  );
}

/** From the first request that nothing answered until the service does. */
function useIsAway(): boolean {
  const queries = useQueryClient();
  const [isAway, setAway] = useState(false);
  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        if (event.type !== 'updated' || event.action.type !== 'error') return;
        const { error } = event.query.state;
        if (error instanceof ApiFailure && error.code === 'unreachable') setAway(true);
      }),
    [queries],
  );
  useEffect(() => {
    if (!isAway) return;
    const look = setInterval(async () => {
      if (!(await isServiceThere())) return;
      setAway(false);
      await queries.invalidateQueries();
    }, LOOK_MS);
    return () => clearInterval(look);
  }, [isAway, queries]);
  return isAway;
}
