// The dialogs: see later.tsx.

export { Drawer, Modal } from '@mantine/core';
