// What Microsoft's own parser of Adaptive Cards says of a message for Teams: its complaints, and the texts that it would show.
const { AdaptiveCard, SerializationContext, Versions, RichTextBlock } = require("adaptivecards/dist/adaptivecards.js");

let input = "";
process.stdin.on("data", (part) => (input += part));
process.stdin.on("end", () => {
  const [attachment] = JSON.parse(input).attachments;
  const card = new AdaptiveCard();
  const context = new SerializationContext(Versions.v1_4);
  card.parse(attachment.content, context);
  const complaints = [];
  for (let at = 0; at < context.eventCount; at++) complaints.push(context.getEventAt(at).message);
  for (const { errors } of card.validateProperties().validationEvents ?? []) complaints.push(errors);
  const texts = [];
  for (let at = 0; at < card.getItemCount(); at++) {
    const item = card.getItemAt(at);
    const runs = item instanceof RichTextBlock ? item : { getInlineCount: () => 0 };
    let text = "";
    for (let run = 0; run < runs.getInlineCount(); run++) text += runs.getInlineAt(run).text;
    texts.push(text);
  }
  process.stdout.write(JSON.stringify({ kind: attachment.contentType, complaints, texts }));
});
