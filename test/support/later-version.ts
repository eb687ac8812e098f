// The version of the tables of the later release that tests run.

export const LATER_VERSION = 1_000;
