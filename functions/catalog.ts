import type { HandlerDefinition } from '../core/handler/handler.ts';
import makeThumbnail from './handlers/make-thumbnail.ts';
import sendReminder from './handlers/send-reminder.ts';

/** The handlers whose payloads the API checks. In a bundle a generated list of the deployed ones stands here. */
const catalog: readonly HandlerDefinition[] = [makeThumbnail, sendReminder];

export default catalog;
