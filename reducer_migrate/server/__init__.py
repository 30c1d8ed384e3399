"""The language server: findings while typing, help on hover, quick fixes, fix-all."""
