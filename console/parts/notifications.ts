// The place of notifications, which is loaded after the first page.

export { Notifications } from '@mantine/notifications';
