// How a request ended, in a word.

import type { UsageShape } from '../../src/admin-api/shapes.ts';
import { words } from '../words.ts';
import { StatusBadge } from './status-badge.tsx';

export function OutcomeBadge({ outcome }: { outcome: UsageShape['outcome'] }) {
  return <StatusBadge status={outcome} label={words.outcomes[outcome]} />;
}
