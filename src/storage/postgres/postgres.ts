// The door of the PostgreSQL store: one database for any number of nodes.

export { prepareDatabase } from './open-database.ts';
