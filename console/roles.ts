// Which roles somebody may give to others, by their own. What decides is the admin API.

import type { Role } from './me.tsx';

/** The one that may do least stands last. */
export function rolesToGive(role: Role): readonly Role[] {
  if (role === 'operator') return ['operator', 'viewer', 'owner', 'member'];
  return role === 'owner' ? ['owner', 'member'] : [];
}
