// How many connections to the database a node has at most.

import { bounds } from '../../config.ts';

const LEASES = 1;
const CHANGES = 1;
const UPKEEP = 1; // at the start, while old rows are dropped, and months are made

/** Of each node. Commands that look at the database have a few more, for as long as they look. */
export const connectionsPerNode =
  bounds.signInConnections +
  bounds.ledgerLanes +
  LEASES +
  bounds.readConnections +
  bounds.reportConnections +
  CHANGES +
  UPKEEP;
