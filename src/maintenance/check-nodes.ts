// The nodes of a database: that there are some, that they find connections enough, and that what gone ones left was ended.

import type { Finding } from '../commands/commands.ts';
import { bounds } from '../config.ts';
import { connectionsPerNode, type ServerState } from '../storage/postgres/postgres.ts';
import type { PostgresFacts } from './facts.ts';

/** A node that is started before the one that it replaces stops, and a command that looks. */
const NODES_BESIDE = 1;
const CONNECTIONS_BESIDE = 3;

export function checkNodes({ tables, activity }: PostgresFacts, server: ServerState, subject: string): Finding[] {
  if (tables === null || 'failure' in tables || tables.is.version.stored === 0) return [];
  const { alive, holdsLeft, holdsOpen } = tables.is.nodes;
  const others = activity !== null && 'is' in activity ? activity.is.others : { server: 0, database: 0 };
  return [
    ...(alive === 0 ? [noNode(holdsOpen, subject)] : leftHolds(holdsLeft, subject)),
    ...checkConnections(alive, connectionsFor(server, others), subject),
  ];
}

function noNode(holdsOpen: number, subject: string): Finding {
  const held = holdsOpen === 0 ? '' : ` ${holdsOpen} holds of messages that were cut are still open.`;
  return {
    severity: 'warning',
    code: 'service_not_running',
    subject,
    message: `No node has a lease on this database: nobody is served.${held}`,
    remedy: 'turnpike serve',
  };
}

function leftHolds(holds: number, subject: string): Finding[] {
  if (holds === 0) return [];
  return [
    {
      severity: 'error',
      code: 'holds_of_gone_nodes',
      subject,
      message: `${holds} holds are of nodes whose lease lapsed more than ${(2 * bounds.leaseMs) / 1000} seconds ago: the nodes that are alive should have ended them. That money cannot be spent until they do.`,
      remedy:
        'See the log of the nodes (store_failed), and restart one. If they stay, keep a backup of this state and report it.',
    },
  ];
}

/** How many connections nodes and commands may have in all. */
function connectionsFor(server: ServerState, others: { server: number; database: number }): number {
  const setting = (name: string) => Number(server.settings[name] ?? 0);
  const reserved = server.isSuperuser ? 0 : setting('superuser_reserved_connections') + setting('reserved_connections');
  const limits = [setting('max_connections') - reserved - others.server];
  if (!server.isSuperuser && server.roleConnectionsMax >= 0) limits.push(server.roleConnectionsMax);
  if (!server.isSuperuser && server.databaseConnectionsMax >= 0)
    limits.push(server.databaseConnectionsMax - others.database);
  return Math.min(...limits);
}

function checkConnections(alive: number, free: number, subject: string): Finding[] {
  const needed = alive * connectionsPerNode;
  const comfortable = needed + NODES_BESIDE * connectionsPerNode + CONNECTIONS_BESIDE;
  if (free >= comfortable) return [];
  const nodes = `${alive} ${alive === 1 ? 'node' : 'nodes'}`;
  return [
    {
      severity: free < needed ? 'error' : 'warning',
      code: 'connections_too_few',
      subject,
      message: `There is room for ${Math.max(0, free)} connections of nodes and commands, and ${nodes} need ${needed}, ${connectionsPerNode} each${free < needed ? ': some wait for a connection, and answer store_unavailable' : `; with one more beside them, as in an upgrade, and a command, ${comfortable}`}.`,
      remedy: `Raise max_connections (and restart the server), or the limit of the role or database (ALTER ROLE … CONNECTION LIMIT, ALTER DATABASE … CONNECTION LIMIT), so that there are ${comfortable} beside those of other programs.`,
    },
  ];
}
