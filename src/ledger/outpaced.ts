// Why a change is refused that was decided by what stands no more: another node changed it meanwhile. Nothing is written of it;
// whoever decided it reads again, and decides again.

import { BrokenInvariant } from '../base/assert.ts';

/** Of its bundle alone: the others of its batch are taken without it. */
export class Outpaced extends BrokenInvariant {
  override name = 'Outpaced';
}
