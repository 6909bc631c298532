import { createTransport } from 'nodemailer';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** The same in every attempt, so that most mailboxes show a repeated email once. */
  readonly messageId: string;
}

/** The mail server of SMTP_URL. An object, so that a test can replace the method. */
export const mail = {
  async send(message: Mail): Promise<void> {
    await createTransport(process.env.SMTP_URL).sendMail({ from: 'reminders@example.com', text: '', ...message });
  },
};
