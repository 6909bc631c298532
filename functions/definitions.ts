import type { DefinitionData } from '../core/handler/definition.ts';
import makeThumbnail from './handlers/make-thumbnail.ts';
import sendReminder from './handlers/send-reminder.ts';

/** The handlers that a deployment registers. A bundle replaces this list with data: no handler file is imported. */
const definitions: readonly DefinitionData[] = [makeThumbnail, sendReminder];

export default definitions;
