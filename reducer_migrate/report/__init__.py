"""What a run says: findings on one stream, the summary and the progress on another."""
